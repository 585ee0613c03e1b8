# Has children, a pipeline, a process in a session of its own, and daemons whose parents have ended. All ignore SIGTERM.
trap '' TERM HUP
lasts() { while :; do sleep 0.1; done; }
echo began
lasts &
lasts | lasts | lasts &
(lasts & lasts & exit 0) &
setsid sh -c 'while :; do sleep 0.1; done' &
setsid sh -c '(setsid sh -c "while :; do sleep 0.1; done" &) ; exit 0' &
lasts
