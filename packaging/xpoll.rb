# Homebrew: set url and sha256 to the release's archive.
class Xpoll < Formula
  desc "One event queue for every kernel"
  url "file:///path/to/xpoll-1.0.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "BSD-2-Clause"

  depends_on "cmake" => :build

  def install
    system "cmake", "-S", ".", "-B", "build", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
    pkgshare.install "examples/ten-lines.c"
  end

  test do
    system ENV.cc, pkgshare/"ten-lines.c", "-o", "ten-lines", "-I#{include}", "-L#{lib}", "-lxpoll"
    assert_equal "works\n", pipe_output("./ten-lines", "works\n")
  end
end
