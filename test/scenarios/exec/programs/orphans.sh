# Makes orphans that end at once, and notes how many processes PID 1 does not reap. Ends at SIGTERM with 9.
trap 'exit 9' TERM
for _ in 1 2 3 4 5 6 7 8 9 10; do (sleep 0.01 &); done
sleep 1
zombies=0
for stat in /proc/[0-9]*/stat; do
  read -r line < "$stat" && case $line in *') Z '*) zombies=$((zombies + 1)) ;; esac
done
echo "$zombies zombies" >> notes
while :; do sleep 0.05; done
