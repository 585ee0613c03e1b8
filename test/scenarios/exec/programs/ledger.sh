# Acts for its term as often as it can: appends its epoch to the ledger $1. So does a daemon that it starts.
act() { while :; do echo "$TENURE_EPOCH" >> "$1"; sleep 0.01; done; }
echo "main $$" >> pids
setsid sh -c 'trap "" TERM; echo "daemon $$" >> pids; while :; do echo "$TENURE_EPOCH" >> "$0"; sleep 0.01; done' "$1" &
trap 'exit 0' TERM
act "$1"
