import { onTestFinished } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import type { Controller } from '../../src/controller/controller.ts'
import { MemoryLeaseStore } from '../../src/lock/memory-lock.ts'
import type { Extension } from '../../src/manager/extension.ts'
import { Manager } from '../../src/manager/manager.ts'
import type { ManagerOptions } from '../../src/manager/manager-options.ts'
import { BreakableLock } from './breakable-lock.ts'
import { untilEnd } from './replica.ts'

/** A manager for the lease `lease` on virtual time and leases in memory. */
export function createManager({
  extensions = [],
  ...options
}: Partial<ManagerOptions> & { readonly extensions?: readonly Extension[] } = {}) {
  const clock = new VirtualClock()
  const store = new MemoryLeaseStore()
  const locks: BreakableLock[] = []
  const manager = new Manager({
    identity: 'me',
    lease: { name: 'lease' },
    clock,
    random: () => 0,
    createLock: (lease) => {
      const lock = new BreakableLock(store.lock(lease.name))
      locks.push(lock)
      return lock
    },
    ...options,
  })
  for (const extension of extensions) manager.use(extension)
  onTestFinished(async () => {
    void manager.stop()
    await clock.advance(60_000)
  })
  return { manager, clock, store, locks }
}

/** A controller that works until its term ends, unless the options say otherwise. */
export const janitor = (run: Controller['run'] = untilEnd, name = 'janitor'): Controller => ({ name, run })

/** An extension that writes down when it starts and stops. */
export function extension(name: string, log: string[], fault: Partial<Extension> = {}): Extension {
  return {
    name,
    start: async () => void log.push(`start ${name}`),
    stop: async () => void log.push(`stop ${name}`),
    ...fault,
  }
}
