import { EXIT_CODE } from 'tenure'
import { table } from './declarations.ts'

const MEANINGS: Readonly<Record<keyof typeof EXIT_CODE, string>> = {
  clean: 'The manager stopped cleanly.',
  failed:
    'The program failed. Also: a second SIGTERM or SIGINT ([unless a framework sent it](../how-to/add-a-web-server.md#signals)).',
  badOptions:
    'An option, a flag, the environment or the kubeconfig is wrong; the port is in use; the identity is taken; worker threads are forbidden.',
  leadershipLost: 'The lease was lost while the gate `GracefulLeaderTransition` is off.',
  wedged: 'A drain did not end in time.',
}

/** The page of all exit codes. */
export function exitCodesPage(): string {
  const rows = Object.entries(EXIT_CODE).map(([name, code]) => [
    String(code),
    `\`${name}\``,
    MEANINGS[name as keyof typeof EXIT_CODE],
  ])
  return (
    [
      '# Exit codes',
      'The process exits with one of these codes if you do not catch the error from `createManager()` or `start()`.',
      table(['code', 'name in `EXIT_CODE`', 'meaning'], rows),
      '[Errors](errors.md) lists the exit code of each error. `exitCodeOf(error)` returns it.',
    ].join('\n\n') + '\n'
  )
}
