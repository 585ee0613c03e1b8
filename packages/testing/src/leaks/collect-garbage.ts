import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { nextTurn, unobserved } from './unobserved.ts'

let gc: (() => void) | undefined

/**
 * Collects every unreachable object and lets finalizers run. Needs no `--expose-gc`.
 *
 * `WeakRef.deref()` keeps its object alive until the current turn of the event loop ends. So this waits one turn before each
 * collection and one turn after the last.
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
