# Ignores SIGTERM and writes its pid into the file $1.
trap '' TERM
echo $$ > "$1"
while :; do
  sleep 0.01
done
