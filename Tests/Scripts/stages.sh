# The stages of bin/test, and what each took. Source it, then call:
#   stage NAME COMMAND…     runs a command, and shows what it prints while it runs
#   later NAME COMMAND…     notes a command for side_by_side
#   side_by_side COUNT      runs the noted commands, so many at once, and prints all that each said when it ends
#   stage_table             prints the seconds of each stage, by the clock and of CPU
# $stages/log has what all stages printed. An interrupt ends every process of every stage. A side-by-side command has ports of
# its own (TEST_PORTS), see Tests/Scripts/free_port.py.

stages=$(mktemp -d "${TMPDIR:-/tmp}/lamplighter-test.XXXXXX")
: >"$stages/log"
stage_rows=() later_names=() later_commands=()
# By process: its place in later_names, and its share of the ports.
declare -A running=() port_share=()

trap end_stages EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Each command has a process group of its own. An interrupt lets it clean up; what ignores one is ended, and then killed.
end_stages() {
    local code=$? signal pid tenth
    trap - EXIT INT TERM
    for pid in "${!running[@]}"; do
        echo "──── bin/test: ${later_names[running[$pid]]}: interrupted; its last lines:"
        tail -n 20 "$stages/${running[$pid]}.log"
    done
    for signal in INT TERM KILL; do
        for pid in "${!running[@]}"; do kill "-$signal" -- "-$pid" 2>/dev/null || unset "running[$pid]"; done
        for ((tenth = 0; tenth < 50 && ${#running[@]} > 0; tenth++)); do
            sleep 0.1
            for pid in "${!running[@]}"; do kill -0 -- "-$pid" 2>/dev/null || unset "running[$pid]"; done
        done
    done
    rm -rf "$stages"
    exit "$code"
}

stage() {
    local name="$1" status=0 TIMEFORMAT='%R %U %S'
    shift
    { time "$@" 2>&1 | tee -a "$stages/log"; } 2>"$stages/time" || status=$?
    note_stage "$name" "$status" "$stages/time"
    return "$status"
}

# note_stage NAME STATUS FILE: keeps what `time` wrote into a file.
note_stage() {
    local wall=0 user=0 system=0 mark=✓
    read -r wall user system <"$3" || true
    [ "$2" = 0 ] || mark=✗
    stage_rows+=("$(LC_ALL=C awk -v name="$1" -v wall="$wall" -v cpu="$user $system" -v mark="$mark" 'BEGIN {
        split(cpu, parts, " ")
        printf "  %s %-24s %8.0f %8.0f", mark, name, wall, parts[1] + parts[2]
    }')")
}

later() {
    later_names+=("$1")
    shift
    later_commands+=("$(printf '%q ' "$@")")
}

side_by_side() {
    local most="$1" next=0 pid status failed=0
    while [ "$next" -lt ${#later_names[@]} ] || [ ${#running[@]} -gt 0 ]; do
        if [ "$next" -lt ${#later_names[@]} ] && [ ${#running[@]} -lt "$most" ]; then
            start_beside "$next"
            next=$((next + 1))
            continue
        fi
        status=0
        wait -n -p pid "${!running[@]}" || status=$?
        end_beside "$pid" "$status"
        [ "$status" = 0 ] || failed=1
    done
    later_names=() later_commands=()
    return "$failed"
}

start_beside() {
    local share=0
    while [[ " ${port_share[*]} " == *" $share "* ]]; do share=$((share + 1)); done
    echo "bin/test: ${later_names[$1]} …"
    set -m # A process group for the command.
    (
        export TEST_PORTS=$((10000 + share * 5000))
        TIMEFORMAT='%R %U %S'
        { time eval "${later_commands[$1]}" >"$stages/$1.log" 2>&1 </dev/null; } 2>"$stages/$1.time"
    ) &
    set +m
    running[$!]=$1 port_share[$!]=$share
}

end_beside() {
    local number="${running[$1]}" mark=✓
    local name="${later_names[number]}"
    unset "running[$1]" "port_share[$1]"
    [ "$2" = 0 ] || mark=✗
    { echo "──── bin/test: $name: $mark, exit code $2; what it printed:" && cat "$stages/$number.log"; } | tee -a "$stages/log"
    note_stage "$name" "$2" "$stages/$number.time"
}

stage_table() {
    printf '  %-26s %8s %8s\n' stage 'wall s' 'CPU s'
    printf '%s\n' "${stage_rows[@]}"
}
