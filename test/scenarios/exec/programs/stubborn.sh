# Ignores SIGTERM.
trap '' TERM
echo "stubborn $$" >> pids
while :; do sleep 0.05; done
