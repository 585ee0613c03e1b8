# Writes its pid into the file $1 and then appends to the file "acts" until somebody ends it.
echo $$ > "$1"
while :; do
  echo "$1" >> acts
  sleep 0.01
done
