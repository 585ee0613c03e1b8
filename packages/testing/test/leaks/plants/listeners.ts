import { EventEmitter, on, once } from 'node:events'
import type { Plant } from './plant.ts'

/** Exists before every watch and never ends. */
const bus = new EventEmitter()
const target = new EventTarget()
const root = new AbortController()
const noop = () => {}

async function consume(signal?: AbortSignal): Promise<void> {
  for await (const _ of on(bus, 'tick', { signal }));
}

export const listenerPlants: readonly Plant[] = [
  {
    name: 'listener on process',
    kind: 'process-listener',
    leak: () => {
      const listener = () => {}
      process.on('warning', listener)
      return () => process.off('warning', listener)
    },
    clean: () => {
      process.on('warning', noop)
      process.off('warning', noop)
    },
  },
  {
    name: 'signal listener',
    kind: 'process-listener',
    leak: () => {
      const listener = () => {}
      process.once('SIGUSR2', listener)
      return () => process.off('SIGUSR2', listener)
    },
    clean: () => process.once('SIGUSR2', noop).off('SIGUSR2', noop),
  },
  {
    name: 'listener on an EventEmitter',
    kind: 'event-listener',
    leak: () => {
      const listener = () => {}
      bus.on('tick', listener)
      return () => bus.off('tick', listener)
    },
    clean: () => bus.prependListener('tick', noop).off('tick', noop),
  },
  {
    name: 'promise of an event that never comes',
    kind: 'event-listener',
    leak: () => {
      const abort = new AbortController()
      once(bus, 'never', { signal: abort.signal }).catch(noop)
      return () => abort.abort()
    },
    clean: async () => {
      const event = once(bus, 'now')
      bus.emit('now')
      await event
    },
  },
  {
    name: 'iterated events',
    kind: 'event-listener',
    leak: () => {
      const abort = new AbortController()
      consume(abort.signal).catch(noop)
      return () => abort.abort()
    },
    clean: async () => {
      const abort = new AbortController()
      const ended = consume(abort.signal).catch(noop)
      abort.abort()
      await ended
    },
  },
  {
    name: 'listener on an EventTarget',
    kind: 'event-target-listener',
    leak: () => {
      const listener = () => {}
      target.addEventListener('tick', listener)
      return () => target.removeEventListener('tick', listener)
    },
    clean: () => {
      target.addEventListener('tick', noop, { once: true })
      target.dispatchEvent(new Event('tick'))
    },
  },
  {
    name: 'listener on the root signal',
    kind: 'abort-listener',
    leak: () => {
      const listener = () => {}
      root.signal.addEventListener('abort', listener, { once: true })
      return () => root.signal.removeEventListener('abort', listener)
    },
    clean: () => {
      const scope = new AbortController()
      root.signal.addEventListener('abort', noop, { signal: scope.signal })
      scope.abort()
    },
  },
  {
    name: 'listener on a signal that follows the root signal',
    kind: 'abort-listener',
    leak: () => {
      const listener = () => {}
      const follower = AbortSignal.any([root.signal, new AbortController().signal])
      follower.addEventListener('abort', listener)
      return () => follower.removeEventListener('abort', listener)
    },
    clean: () => {
      const follower = AbortSignal.any([root.signal])
      follower.addEventListener('abort', noop)
      follower.removeEventListener('abort', noop)
    },
  },
]
