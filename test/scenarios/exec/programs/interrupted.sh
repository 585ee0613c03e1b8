# Says that it got SIGINT and dies of it. Ends at SIGTERM with 9.
trap 'echo SIGINT; trap - INT; kill -INT $$' INT
trap 'exit 9' TERM
echo "main $$" >> pids
while :; do sleep 0.05; done
