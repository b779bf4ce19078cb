#!/bin/sh
# The jars as a project elsewhere takes them: out of a repository, by name, with what the
# one of java.nio needs brought along.  Here the repository is a folder.
#
#   repository.sh maven|gradle BUILD_FOLDER
set -u
here=$(cd "$(dirname "$0")" && pwd)
JAVA_HOME=$(sh "$here/../find-jdk.sh") ||
	{ echo "SKIP: no JDK 22 or later; ./dev check installs one"; exit 77; }
# value NAME POM: of the first element of that name.
value() { sed -n "s,^ *<$1>\(.*\)</$1>.*,\1,p" "$2" | head -n 1; }
version=$(value version "$here/../pom.xml")
[ -f "$2/xpoll-$version.jar" ] || { echo "SKIP: Maven has made no jar"; exit 77; }
unset JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS
made=$(cd "$2" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/xpoll-repository.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# lay NAME JAR POM
lay() {
	to=$work/repository/org/xpoll/$1/$version/$1-$version
	mkdir -p "${to%/*}"
	cp "$2" "$to.jar"
	cp "$3" "$to.pom"
	for file in "$to.jar" "$to.pom"; do
		sha1sum <"$file" | cut -d ' ' -f 1 >"$file.sha1"
	done
}
lay xpoll "$made/xpoll-$version.jar" "$here/../pom.xml"
lay xpoll-nio "$made/nio/xpoll-nio-$version.jar" "$here/../nio/pom.xml"

fail() { cat log; echo "FAILED: $*"; exit 1; }
quiet() { "$@" >log 2>&1 || fail "$*"; }

mkdir -p src/main/java/user src/test/java/user
cat >src/main/java/user/Main.java <<'JAVA'
package user;

import java.nio.channels.Pipe;
import java.nio.channels.spi.SelectorProvider;
import org.xpoll.Events;
import org.xpoll.Poller;

public class Main {
    public static void main(String[] arguments) throws Exception {
        SelectorProvider provider = (SelectorProvider) Class.forName(
                "org.xpoll.nio.XpollSelectorProvider").getConstructor().newInstance();
        Pipe pipe = provider.openPipe();
        try (Poller poller = new Poller()) {
            poller.add(pipe.sink(), Poller.POLLOUT);
            System.out.println("ready " + poller.pollMillis(new Events(1), -1));
        }
    }
}
JAVA
flags="--enable-native-access=ALL-UNNAMED --add-exports java.base/sun.nio.ch=ALL-UNNAMED"

# Nothing is fetched: the plug-ins are those that made the jars.  What Maven takes out of
# our repository is not to stay in that of this user.
use_maven() {
	command -v mvn >/dev/null 2>&1 ||
		{ echo "SKIP: no Maven; ./dev check installs it"; exit 77; }
	cache=$made/repository
	[ ! -w "${HOME:-/nowhere}" ] || cache=$HOME/.m2/repository
	mkdir -p cache/org
	for entry in "$cache"/* "$cache"/org/*; do
		case ${entry#"$cache"/} in
		org | org/xpoll) ;;
		*) ln -s "$entry" "cache/${entry#"$cache"/}" ;;
		esac
	done
	cat >src/test/java/user/MainTest.java <<'JAVA'
package user;

class MainTest {
    @org.junit.jupiter.api.Test
    void runs() throws Exception {
        Main.main(new String[0]);
    }
}
JAVA
	plugin() {
		echo "<plugin>"
		sed -n "/<artifactId>$1</{ N; p; }" "$here/../pom.xml"
	}
	cat >pom.xml <<XML
<project>
<modelVersion>4.0.0</modelVersion>
<groupId>user</groupId><artifactId>user</artifactId><version>1</version>
<properties>
<maven.compiler.release>22</maven.compiler.release>
<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
</properties>
<repositories><repository>
<id>here</id><url>file://$work/repository</url>
</repository></repositories>
<dependencies>
<dependency>
<groupId>org.xpoll</groupId><artifactId>xpoll-nio</artifactId><version>$version</version>
</dependency>
<dependency>
<groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId>
<version>$(value junit.version "$here/../pom.xml")</version>
<scope>test</scope>
</dependency>
</dependencies>
<build><plugins>
$(plugin maven-resources-plugin)</plugin>
$(plugin maven-compiler-plugin)</plugin>
$(plugin maven-surefire-plugin)<configuration><argLine>$flags</argLine></configuration></plugin>
</plugins></build>
</project>
XML
	export JAVA_HOME
	quiet mvn -B -o -ntp -Daether.offline.protocols=file -Dmaven.repo.local="$work/cache" test
	[ -f "cache/org/xpoll/xpoll/$version/xpoll-$version.jar" ] || fail "not from here"
	grep -Fx "ready 1" log || fail "it does not run"
}

# It may run by an older Java than the one that compiles.
use_gradle() {
	command -v gradle >/dev/null 2>&1 || { echo "SKIP: no Gradle"; exit 77; }
	cat >build.gradle <<END
apply plugin: 'java'
repositories { maven { url = 'file://$work/repository' } }
dependencies { implementation 'org.xpoll:xpoll-nio:$version' }
compileJava {
    options.fork = true
    options.forkOptions.javaHome = file('$JAVA_HOME')
}
task use(type: Exec) {
    dependsOn classes
    commandLine(['$JAVA_HOME/bin/java'] + '$flags'.tokenize()
            + ['-cp', sourceSets.main.runtimeClasspath.asPath, 'user.Main'])
}
END
	touch settings.gradle
	unset JAVA_HOME
	quiet gradle --no-daemon --offline --gradle-user-home "$work/home" use
	grep -Fx "ready 1" log || fail "it does not run"
}

"use_$1"
