import { beforeEach, describe, expect, it, vi } from 'vitest'
import { HealthProbe } from '@tenure/core'
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

async function started() {
  const extension = signalExtension(silentLogger)
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
