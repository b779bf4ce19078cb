# nix-build packaging: the library and the command, from the tree around this file.
{ pkgs ? import <nixpkgs> { } }:

pkgs.stdenv.mkDerivation {
  pname = "xpoll";
  version = "1.0.0";
  src = pkgs.lib.cleanSource ./..;
  nativeBuildInputs = [ pkgs.cmake ];
  meta = {
    description = "One event queue for every kernel";
    license = pkgs.lib.licenses.bsd2;
    mainProgram = "xpoll";
    platforms = pkgs.lib.platforms.unix;
  };
}
