import { whyNotStartable } from './find-program.ts'

const SHELL = '/bin/sh'

/**
 * Runs the command and passes signals on to it. `wait` also reaps the orphans that a container gives to its PID 1. The command gets the
 * standard input, which a shell takes away from commands in the background. Ends with the exit code of the command, or 128 plus the number
 * of the signal.
 *
 * A signal that is passed on interrupts `wait`, which then ends with more than 128. If the command has ended in the meantime, a second `wait`
 * has its exit code, or ends with 127 if the first one had it already.
 *
 * It uses only shell built-ins, because a container may have no other program.
 */
export const INIT_SCRIPT = `
child= early=
for signal in HUP INT QUIT TERM USR1 USR2 WINCH; do
  trap "if [ -n \\"\\$child\\" ]; then kill -s $signal \\"\\$child\\"; else early=$signal; fi" "$signal"
done
exec 3<&0
"$@" <&3 3<&- &
child=$!
exec 3<&- < /dev/null
[ -z "$early" ] || kill -s "$early" "$child"
while :; do
  wait "$child"
  code=$?
  [ "$code" -gt 128 ] || exit "$code"
  kill -s 0 "$child" 2> /dev/null && continue
  wait "$child"
  again=$?
  [ "$again" -eq 127 ] || code=$again
  exit "$code"
done
`

/**
 * Makes a shell the PID 1 of the container, and this program its child. Does nothing unless this process is PID 1.
 *
 * PID 1 must reap orphans, which Node cannot do. The kernel also drops signals to PID 1 that it does not handle yet.
 */
export function leavePid1(): void {
  if (process.pid !== 1) return
  // A call of `execve()` that fails ends the process.
  if (whyNotStartable(SHELL) !== undefined) {
    process.emitWarning(`There is no ${SHELL}: this process is PID 1 and does not reap the zombies of its program`, {
      code: 'TENURE_NO_INIT',
      detail: 'Add a shell to the image, or run the container with an init process.',
    })
    return
  }
  const command = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  process.execve?.(SHELL, [SHELL, '-c', INIT_SCRIPT, 'tenure-init', ...command], process.env)
}
