# Says what it was given, copies its standard input and succeeds.
echo "$TENURE_LEASE $TENURE_NAMESPACE $TENURE_IDENTITY $TENURE_EPOCH $*"
cat
echo error >&2
