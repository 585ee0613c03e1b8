import { collectDefaultMetrics } from 'prom-client'
import { ServedRegistry } from './served-registry.ts'

let registry: ServedRegistry | undefined

/**
 * The metrics of this process: memory, event loop, garbage collection, handles.
 *
 * The observers behind them cannot be stopped, so there is one set of them in a process, made at the first call and shared by
 * everybody who serves it.
 */
export function processMetrics(): ServedRegistry {
  if (registry === undefined) {
    registry = new ServedRegistry()
    collectDefaultMetrics({ register: registry })
  }
  return registry
}
