import { collectDefaultMetrics } from 'prom-client'
import { ServedRegistry } from './served-registry.ts'

let registry: ServedRegistry | undefined

/**
 * The metrics of this process: memory, event loop, garbage collection, handles.
 *
 * prom-client cannot stop the observers behind them. The first call creates one set for the process, and all managers share it.
 */
export function processMetrics(): ServedRegistry {
  if (registry === undefined) {
    registry = new ServedRegistry()
    collectDefaultMetrics({ register: registry })
  }
  return registry
}
