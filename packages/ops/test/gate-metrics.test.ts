import { gatedFetch, type Term } from '@tenure/core'
import { WriteGate } from '@tenure/core/internal'
import { expect, test } from 'vitest'
import { controller, manage, samples } from './managed-ops.ts'

const unreachable: typeof fetch = async () => {
  throw new Error('the network was reached')
}

test('writes that a gate refuses are counted by controller and method, also after the term', async () => {
  const terms: Term[] = []
  await using managed = manage({
    controllers: [controller('sweeper', (term) => terms.push(term)), controller('mover', (term) => terms.push(term))],
  })
  await managed.start()
  await managed.state('leading')
  await managed.manager.stepDown({ cooldownMs: 60_000 })
  for (const term of terms.filter((ended) => ended.controller === 'sweeper')) {
    const send = gatedFetch(term, unreachable)
    await expect(send('http://service.test/a', { method: 'PUT' })).rejects.toThrow('gate')
    await expect(send('http://service.test/a', { method: 'delete' })).rejects.toThrow('gate')
    await expect(send('http://service.test/a', { method: 'DELETE' })).rejects.toThrow('gate')
  }
  const page = (await managed.get('/metrics')).body
  expect(samples(page, 'tenure_gate_refusals_total')).toEqual([
    'tenure_gate_refusals_total{controller="sweeper",verb="PUT"} 1',
    'tenure_gate_refusals_total{controller="sweeper",verb="DELETE"} 2',
  ])
})

test('writes that a fence on the server refuses are counted by controller and method, those of other managers are not', async () => {
  const terms: Term[] = []
  await using managed = manage({ controllers: [controller('sweeper', (term) => terms.push(term))] })
  await managed.start()
  await managed.state('leading')
  for (const term of terms) new WriteGate(term).noteFenceRefusal('patch')
  new WriteGate({ epoch: 1n, isHeld: () => true, gateSignal: new AbortController().signal }).noteFenceRefusal('PUT')
  expect(samples((await managed.get('/metrics')).body, 'tenure_fence_refusals_total')).toEqual([
    'tenure_fence_refusals_total{controller="sweeper",verb="PATCH"} 1',
  ])
})

test('writes of terms that another manager served are not counted', async () => {
  await using managed = manage({ controllers: [controller('sweeper')] })
  await managed.start()
  const foreign = { epoch: 1n, isHeld: () => false, gateSignal: AbortSignal.abort() }
  await expect(gatedFetch(foreign, unreachable)('http://service.test/', { method: 'POST' })).rejects.toThrow('gate')
  expect(samples((await managed.get('/metrics')).body, 'tenure_gate_refusals_total')).toEqual([])
})
