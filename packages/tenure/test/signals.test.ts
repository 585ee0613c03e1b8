import { beforeEach, describe, expect, it, vi } from 'vitest'
import { HealthProbe, type Logger } from '@tenure/core'
import { resolveFeatureGates, silentLogger } from '@tenure/core/internal'
import { signalExtension } from '../src/signals.ts'

const stop = vi.fn<() => Promise<void>>()
const exit = vi.spyOn(process, 'exit').mockImplementation((() => {}) as never)

/** What Node does when the signal comes. */
const send = (signal: NodeJS.Signals) => process.emit(signal, signal)

beforeEach(() => {
  stop.mockClear()
  exit.mockClear()
})

describe.each(['SIGTERM', 'SIGINT'] as const)('A second %s', (signal) => {
  it('ends the process at once', async () => {
    const service = await started()
    send(signal)
    expect(stop).toHaveBeenCalledOnce()
    expect(exit).not.toHaveBeenCalled()
    send(signal)
    expect(exit).toHaveBeenCalledExactlyOnceWith(1)
    await service.stop()
  })

  it('ends the process at once beside a listener that stays', async () => {
    const service = await started()
    const other = () => {}
    process.on(signal, other)
    send(signal)
    send(signal)
    expect(exit).toHaveBeenCalledExactlyOnceWith(1)
    process.removeListener(signal, other)
    await service.stop()
  })

  it.each(['on', 'once'] as const)(
    'of a listener set with %s() that has gone lets it stop; a third one ends it',
    async (set) => {
      const other = () => void process.removeListener(signal, other)
      process[set](signal, other)
      const service = await started()
      send(signal)
      send(signal)
      expect(stop).toHaveBeenCalledOnce()
      expect(exit).not.toHaveBeenCalled()
      send(signal)
      expect(exit).toHaveBeenCalledExactlyOnceWith(1)
      await service.stop()
    },
  )

  it('after the other signal ends the process at once', async () => {
    const service = await started()
    send(signal === 'SIGINT' ? 'SIGTERM' : 'SIGINT')
    send(signal)
    expect(exit).toHaveBeenCalledExactlyOnceWith(1)
    await service.stop()
  })
})

it('does not count its own handler among those that have gone', async () => {
  const service = await started()
  const [own] = process.rawListeners('SIGTERM')
  send('SIGTERM')
  process.removeListener('SIGTERM', own as NodeJS.SignalsListener)
  send('SIGINT')
  expect(exit).toHaveBeenCalledExactlyOnceWith(1)
  await service.stop()
})

it('says in the log what each signal does', async () => {
  const lines: unknown[] = []
  const take = (...line: unknown[]) => void lines.push(line)
  const service = await started({ ...silentLogger, info: take, warn: take })
  const other = () => void process.removeListener('SIGTERM', other)
  process.on('SIGTERM', other)
  for (let time = 0; time < 3; time++) send('SIGTERM')
  const fields = { event: 'signal', signal: 'SIGTERM' }
  expect(lines).toEqual([
    [fields, 'SIGTERM: stopping'],
    [fields, 'SIGTERM once more, from a listener that has handled it: still stopping'],
    [fields, 'SIGTERM once more: exiting at once, the lease is left to expire'],
  ])
  await service.stop()
})

it('handles signals only from its start to its stop, before all other listeners', async () => {
  const before = ['SIGTERM', 'SIGINT'].map((signal) => process.rawListeners(signal))
  const other = () => {}
  process.on('SIGINT', other)
  const service = await started()
  expect(process.rawListeners('SIGINT').at(-1)).toBe(other)
  await service.stop()
  process.removeListener('SIGINT', other)
  expect(['SIGTERM', 'SIGINT'].map((signal) => process.rawListeners(signal))).toEqual(before)
})

it('is an extension of the manager with a name', () => {
  expect(signalExtension(silentLogger).name).toBe('signals')
})

async function started(logger: Logger = silentLogger) {
  const extension = signalExtension(logger)
  const probe = new HealthProbe()
  const host = {
    identity: 'a',
    livez: probe,
    readyz: probe,
    candidacies: [],
    featureGates: resolveFeatureGates(),
    stop,
  }
  await extension.start?.(host)
  return { stop: async () => extension.stop?.() }
}
