"""conan create packaging: the library, from the tree around this file."""
import os

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Xpoll(ConanFile):
    name = "xpoll"
    version = "1.0.0"
    description = "One event queue for every kernel"
    license = "BSD-2-Clause"
    topics = ("epoll", "kqueue", "poll", "event-loop")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "fPIC": True}
    languages = "C"
    implements = ["auto_shared_fpic"]

    def export_sources(self):
        tree = os.path.dirname(self.recipe_folder)
        for part in ("CMakeLists.txt", "LICENSE", "*.md", "cmake/*", "include/*", "src/*",
                     "dropin/*", "docs/man/*", "docs/guide/*"):
            copy(self, part, tree, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["XPOLL_TOOLS"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "xpoll")
        library = self.cpp_info.components["xpoll"]
        library.libs = ["xpoll"]
        library.set_property("cmake_target_name", "xpoll::xpoll")
        library.set_property("pkg_config_name", "xpoll")
        if self.settings.os == "Linux":
            library.system_libs = ["pthread"]
            self.drop_in("kqueue", ["pthread", "dl"])
        elif self.settings.os in ("FreeBSD", "Macos"):
            self.drop_in("epoll", ["pthread"])

    def drop_in(self, name, system_libs):
        part = self.cpp_info.components[name]
        part.libs = [f"xpoll-{name}"]
        part.includedirs = [f"include/xpoll-{name}"]
        part.system_libs = system_libs
        part.set_property("cmake_target_name", f"xpoll::{name}")
        part.set_property("pkg_config_name", f"xpoll-{name}")
