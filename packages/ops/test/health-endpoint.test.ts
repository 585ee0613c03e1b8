import { HealthProbe, HealthRegistry } from '@tenure/core'
import { silentLogger } from '@tenure/core/internal'
import { expect, test } from 'vitest'
import { VirtualClock } from '../../testing/src/virtual-clock/virtual-clock.ts'
import { BoundedWaits } from '../src/server/bounded-waits.ts'
import { HealthEndpoint } from '../src/server/health-endpoint.ts'

test('a check that is removed while another one hangs is left out of the answer', async () => {
  const clock = new VirtualClock()
  const [registry, probe] = [new HealthRegistry(), new HealthProbe()]
  probe.add(registry)
  const hung = Promise.withResolvers<void>()
  const remove = registry.register('cache', () => {})
  registry.register('ping', () => {})
  registry.register('disk', () => hung.promise)
  const waits = new BoundedWaits(clock, 5000)
  const endpoint = new HealthEndpoint({ name: 'livez', probe, waits, logger: silentLogger })
  const answer = endpoint.answer({ verbose: false, exclude: ['ping'] })
  remove()
  await clock.advance(5000)
  await clock.advance(5000)
  expect(await answer).toEqual({
    status: 500,
    body: '[+]ping excluded: ok\n[-]disk failed: timed out after 5000 ms\nlivez check failed\n',
  })
  hung.resolve()
})
