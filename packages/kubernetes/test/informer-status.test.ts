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
  expect(lines.at(-1)?.fields).toMatchObject({ event: 'informer-up', attempts: 5, downMs: 5000 })
})

test('The health check of an informer goes with it', async () => {
  const { status, health } = watched()
  status.end()
  expect(health.names).toEqual([])
})
