# Has a child, a grandchild, a process in a session of its own, and one whose parents have ended. Ends on SIGTERM.
member() { sh -c 'echo "member $$" >> pids; while :; do sleep 0.05; done'; }
member &
(member & member) &
setsid sh -c 'trap "" TERM HUP; echo "session $$" >> pids; while :; do sleep 0.05; done' &
setsid sh -c '(trap "" TERM HUP; sh -c "trap \"\" TERM; echo orphan \$\$ >> pids; while :; do sleep 0.05; done") & exit 0' &
echo "main $$" >> pids
while :; do sleep 0.05; done
