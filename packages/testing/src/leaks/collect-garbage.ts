import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { nextTurn, unobserved } from './unobserved.ts'

let gc: (() => void) | undefined

/**
 * Collects all that is unreachable and lets finalizers run. Needs no `--expose-gc`.
 *
 * What a WeakRef has shown during a turn of the event loop stays alive until the turn is over, so there is one before each
 * collection and one after the last.
 */
export async function collectGarbage(): Promise<void> {
  await nextTurn()
  collect()
  await nextTurn()
  collect()
  await nextTurn()
}

function collect(): void {
  if (gc === undefined) {
    gc = unobserved(() => {
      setFlagsFromString('--expose-gc')
      return runInNewContext('gc') as () => void
    })
  }
  gc()
}
