# Notes the signals that it gets in the file "signals". Ends at SIGTERM with 9.
for signal in HUP QUIT USR1 USR2 WINCH; do trap "echo $signal >> signals" "$signal"; done
trap 'exit 9' TERM
echo "main $$" >> pids
while :; do sleep 0.05; done
