import { HealthRegistry } from '@tenure/core'
import { expect, test } from 'vitest'
import { VirtualClock } from '../../testing/src/virtual-clock/virtual-clock.ts'
import { InformerStatus } from '../src/informer/informer-status.ts'
import { type Line, recordingLogger } from './support/recording-logger.ts'

function watched() {
  const clock = new VirtualClock()
  const health = new HealthRegistry()
  const lines: Line[] = []
  const owner = {
    controller: 'janitor',
    signal: new AbortController().signal,
    spawn: () => Promise.reject(new Error('spawns nothing')),
    logger: recordingLogger(lines),
    health,
  }
  const status = new InformerStatus(owner, { path: '/api/v1/pods', name: 'informer-pods', clock })
  const check = async () => (await health.run())[0]?.failure?.message
  return {
    clock,
    health,
    lines,
    status,
    check,
    messages: () => lines.map(({ level, message }) => `${level}: ${message}`),
  }
}

test('Before the first list, the health check of an informer fails with the first failure', async () => {
  const { status, check } = watched()
  expect(await check()).toBeUndefined()
  status.failed(new Error('no route'))
  expect(await check()).toBe('Informer /api/v1/pods has not listed yet (failed attempts: 1): no route')
  status.listed()
  status.recovered()
  expect(await check()).toBeUndefined()
})

test('After the first list, the health check fails once the informer has been blind for 30 s', async () => {
  const { status, clock, check } = watched()
  await clock.advance(1000)
  status.listed()
  status.failed(new Error('no route'))
  await clock.advance(29_999)
  expect(await check()).toBeUndefined()
  await clock.advance(1)
  expect(await check()).toBe('Informer /api/v1/pods has not seen changes for 30 s (failed attempts: 1): no route')
  status.recovered()
  expect(await check()).toBeUndefined()
})

test('The log says when an informer fails, when the reason changes, and when it works again, and nothing in between', async () => {
  const { status, clock, messages, lines } = watched()
  await clock.advance(1000)
  status.listed()
  status.recovered()
  for (const why of ['no route', 'no route', 'refused', 'refused', 'no route']) {
    status.failed(new Error(why))
    await clock.advance(1000)
  }
  status.recovered()
  status.recovered()
  expect(messages()).toEqual([
    'warn: informer /api/v1/pods failed and is retrying: no route',
    'warn: informer /api/v1/pods failed and is retrying: refused',
    'warn: informer /api/v1/pods failed and is retrying: no route',
    'info: informer /api/v1/pods works again',
  ])
  const path = '/api/v1/pods'
  expect(lines[0]?.fields).toEqual({ event: 'informer-down', path, err: new Error('no route') })
  expect(lines.at(-1)?.fields).toEqual({ event: 'informer-up', path, attempts: 5, downMs: 5000 })
})

test('The health check of an informer goes with it', async () => {
  const { status, health } = watched()
  status.end()
  expect(health.names).toEqual([])
})

test('The log says why an informer lists again, louder if every handover will cost a list', () => {
  const { status, lines } = watched()
  status.listsAgain('41')
  status.listsAgain('v-41')
  const fields = { event: 'informer-lists-again', path: '/api/v1/pods' }
  const what = 'informer /api/v1/pods lists again after the handover'
  expect(lines).toEqual([
    { level: 'debug', fields, message: `${what}: not all versions that earlier terms wrote are known` },
    { level: 'info', fields, message: `${what}: its resource versions, such as \`v-41\`, are no decimal numbers` },
  ])
})

test('The failure of a health check has its cause and a code of its own', async () => {
  const { status, health } = watched()
  const cause = new Error('no route')
  status.failed(cause)
  expect((await health.run())[0]?.failure).toMatchObject({ code: 'INFORMER_STALE', cause })
})

test('Several informers of one collection have health checks of their own, and an owner without any has none', () => {
  const health = new HealthRegistry()
  const owner = (registry?: HealthRegistry) => ({
    controller: 'janitor',
    signal: new AbortController().signal,
    spawn: () => Promise.reject(new Error('spawns nothing')),
    ...(registry && { health: registry }),
  })
  const options = { path: '/api/v1/pods', name: 'informer-pods', clock: new VirtualClock() }
  const statuses = [1, 2, 3].map(() => new InformerStatus(owner(health), options))
  expect(health.names).toEqual(['informer-pods', 'informer-pods-2', 'informer-pods-3'])
  statuses[1]?.end()
  expect(health.names).toEqual(['informer-pods', 'informer-pods-3'])
  const silent = new InformerStatus(owner(), options)
  silent.failed(new Error('no route'))
  silent.end()
})
