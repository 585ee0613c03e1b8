import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let gc: (() => void) | undefined

/**
 * Collects all that is unreachable and lets finalizers run. Needs no `--expose-gc`.
 *
 * What a WeakRef has shown during a turn of the event loop stays alive until the turn is over, so there is one between the two
 * collections and one after them.
 */
export async function collectGarbage(): Promise<void> {
  await setImmediate()
  collect()
  await setImmediate()
  collect()
  await setImmediate()
}

function collect(): void {
  if (gc === undefined) {
    setFlagsFromString('--expose-gc')
    gc = runInNewContext('gc') as () => void
  }
  gc()
}
