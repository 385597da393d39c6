#!/usr/bin/env bash
# Compiles Clients/Android and checks it on a JVM; see bin/clients.
#   android.sh [KILLS [STEPS [SEED]]]   apps killed by SIGKILL, processes that die at a chosen step within one JVM
# The classes for Android and the sample are compiled against stand-ins (Tests/StandIns/Android), the sample only if kotlinc
# is installed.
set -euo pipefail
cd "$(dirname "$0")/../.."

kills="${1:-15}" steps="${2:-300}" seed="${3:-$(date +%s)}"
client=Clients/Android/java/dev/lamplighter/client
out=.build/android
rm -rf "$out"
mkdir -p "$out"/{client,stand-ins,android,tests,sample}

# Android's desugaring knows Java 8, so the client is Java 8.
# A later JDK has more warnings, so these are named. `-options`: it finds Java 8 old.
strict=(-Xlint:-options,unchecked,rawtypes,cast,fallthrough,static,divzero,empty,finally,overrides,serial,varargs -Werror)
javac --release 8 "${strict[@]}" -d "$out/client" "$client"/*.java
find Tests/StandIns/Android -name '*.java' -print0 | xargs -0 javac --release 8 -Xlint:-options -d "$out/stand-ins"
javac --release 8 "${strict[@]}" -cp "$out/client:$out/stand-ins" -d "$out/android" "$client"/android/*.java
javac --release 11 "${strict[@]}" -cp "$out/client" -d "$out/tests" Tests/AndroidClient/dev/lamplighter/client/*.java

# What Android 5.0 lacks, the client must not use: an app would need core library desugaring.
newer='java/(nio/(file|channels)|time|util/(function|stream|Optional|Base64|StringJoiner|concurrent/(CompletableFuture|ThreadLocalRandom)))'
newer+='|(Map|List|Collection|Iterable|Iterator)\.(getOrDefault|putIfAbsent|compute|computeIfAbsent|computeIfPresent|merge|forEach'
newer+='|forEachRemaining|replaceAll|removeIf|sort|stream|of)\b|String\.(join|chars|isBlank|repeat|strip)\b|Math\.(floor|toInt)'
if find "$out/client" "$out/android" -name '*.class' -print0 | xargs -0 javap -c -p | grep -E "$newer" >&2; then
    echo "android.sh: the client uses what Android 5.0 lacks" >&2
    exit 1
fi

# The code of the page is the code of the sample.
python3 -B - <<'END'
import glob, re, sys
files = [open(path).read() for path in glob.glob("Clients/Android/sample/*")]
blocks = re.findall(r"```(?:kotlin|xml)\n(.*?)```", open("docs/android.md").read(), re.S)
missing = [block for block in blocks if not any(block in file for file in files)]
if missing or len(blocks) < 3:
    sys.exit("android.sh: not in Clients/Android/sample: " + "\n".join(missing))
END

if command -v kotlinc >/dev/null; then
    kotlinc -Werror -cp "$out/client:$out/stand-ins:$out/android" -d "$out/sample" Clients/Android/sample/*.kt 2>"$out/kotlin.log" || {
        cat "$out/kotlin.log" >&2
        exit 1
    }
else
    echo "android.sh: the sample was not compiled, because kotlinc is not installed"
fi

java -cp "$out/client:$out/tests" dev.lamplighter.client.ClientTests "$kills" "$steps" "$seed"
