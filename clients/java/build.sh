#!/usr/bin/env bash
# Builds the Java client with Debian's packages, below clients/java/build:
#
#     clients/java/build.sh         quizglass-client.jar: the client, and the protocol's classes, made from the .proto files
#     clients/java/build.sh test    builds and runs its tests too, all or those given: --select-class quizglass.client.SessionTest
#     clients/java/build.sh absent      what is not there of all that the tests need, one a line
#     clients/java/build.sh packages    Debian's packages that have it
#
# JAVA_LIBS: where the packages' jars are. PYTHON: runs the tests' scripted server.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
libs=${JAVA_LIBS:-/usr/share/java}
# Debian's libgrpc-java declares none of its dependencies.
packages=(default-jdk-headless protobuf-compiler protobuf-compiler-grpc-java-plugin libgrpc-java libprotobuf-java
    libgoogle-common-protos-java libnetty-java libguava-java libgoogle-gson-java libperfmark-java
    libgeronimo-annotation-1.3-spec-java)
jars=(grpc-api grpc-context grpc-core grpc-netty grpc-protobuf grpc-protobuf-lite grpc-stub protobuf proto-google-common-protos
    guava gson perfmark-api geronimo-annotation-1.3-spec netty-buffer netty-codec netty-codec-http netty-codec-http2
    netty-codec-socks netty-common netty-handler netty-handler-proxy netty-resolver netty-transport
    netty-transport-native-unix-common)
junit=$libs/junit-platform-console-standalone.jar
quick=(-XX:TieredStopAtLevel=1 -XX:+UseSerialGC) # for runs that are short
compile=(javac --release 17 -encoding UTF-8 -proc:none "${quick[@]/#/-J}")
classpath=$(printf "$libs/%s.jar:" "${jars[@]}")

# What is not there, one a line: commands and jars, and those given.
absent() {
    for command in javac jar protoc grpc_java_plugin; do
        command -v $command >/dev/null || echo $command
    done
    for jar in $(printf "$libs/%s.jar " "${jars[@]}") "$@"; do
        [ -f "$jar" ] || echo "$jar"
    done
}

check() {
    local lacking
    lacking=$(absent "${@:2}")
    if [ -n "$lacking" ]; then
        echo "$1 needs what is not there: ${lacking//$'\n'/ }. apt install ${packages[*]}" >&2
        exit 1
    fi
}

# The protocol's classes, made anew when a .proto file has changed.
protocol() {
    if [ -f build/protocol.made ] && [ -z "$(find ../../protos protos -name '*.proto' -newer build/protocol.made)" ]; then
        return
    fi
    rm -rf build/generated build/protocol && mkdir -p build/generated build/protocol
    local plugin="protoc-gen-grpc-java=$(command -v grpc_java_plugin)"
    protoc -I../../protos -Iprotos --java_out=build/generated --grpc-java_out=build/generated --plugin="$plugin" \
        $(cd ../../protos && find . -name '*.proto' -printf '%P\n') $(cd protos && find . -name '*.proto' -printf '%P\n')
    "${compile[@]}" -nowarn -d build/protocol -cp "$classpath" $(find build/generated -name '*.java')
    touch build/protocol.made
}

client() {
    rm -rf build/client && mkdir -p build/client
    "${compile[@]}" -Xlint:all,-processing,-classfile -Werror -d build/client -cp "build/protocol:$classpath" $(find src -name '*.java')
    { echo "Class-Path: " && printf "  $libs/%s.jar\n" "${jars[@]}"; } >build/manifest
    jar --create --file build/quizglass-client.jar --manifest build/manifest -C build/protocol . -C build/client .
}

tests() {
    rm -rf build/tests && mkdir -p build/tests
    local tested="build/client:build/protocol:$classpath$junit"
    "${compile[@]}" -Xlint:all,-processing,-classfile,-path -Werror -d build/tests -cp "$tested" $(find test -name '*.java')
    java "${quick[@]}" -Dquizglass.root="$root" -Dquizglass.python="${PYTHON:-$root/.venv/bin/python}" -cp "build/tests:$tested" \
        org.junit.platform.console.ConsoleLauncher --disable-banner --details=tree --disable-ansi-colors "$@"
}

case ${1:-} in
absent)
    absent "$junit"
    ;;
packages)
    echo "${packages[*]} junit5"
    ;;
test)
    packages+=(junit5)
    check "The Java client's test" "$junit"
    protocol
    client
    shift
    [ $# -gt 0 ] || set -- --select-package quizglass.client
    tests "$@"
    ;;
*)
    check "The Java client"
    protocol
    client
    ;;
esac
