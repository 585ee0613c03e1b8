# Notes its epoch and the time in the file "runs" and fails.
echo "$TENURE_EPOCH" >> runs
exit 5
