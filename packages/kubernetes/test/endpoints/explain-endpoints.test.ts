import { describe, expect, test } from 'vitest'
import { explainEndpoints, type EndpointsStanding } from '../../src/endpoints/explain-endpoints.ts'

const STANDING: EndpointsStanding = {
  mode: 'lease',
  slice: 'shop-tenure',
  isStarted: true,
  isStopped: false,
  isListed: true,
  count: 2,
  own: undefined,
  problem: undefined,
  group: undefined,
}

const explained = (change: Partial<EndpointsStanding> = {}): string => explainEndpoints({ ...STANDING, ...change })

describe('The explanation of the EndpointSlice', () => {
  test('says why this replica is not in it', () => {
    const where = 'It is not in the EndpointSlice shop-tenure with 2 entries, because'
    expect(explained()).toBe(`${where} it is not ready yet.`)
    expect(explained({ mode: 'leader' })).toBe(`${where} it does not lead.`)
    expect(explained({ problem: new Error('no Pod') })).toBe(`${where} it is not ready yet: no Pod.`)
  })

  test('says how this replica is in it, or is to be', () => {
    const conditions = { address: '10.0.0.1', serving: true, nodeName: undefined, zone: undefined }
    const own = { ...conditions, ready: true, terminating: false }
    const where = 'in the EndpointSlice shop-tenure with 2 entries'
    expect(explained({ own })).toBe(`It is ${where}.`)
    expect(explained({ own: { ...own, ready: false } })).toBe(`It is ${where} as not ready.`)
    expect(explained({ own: { ...own, terminating: true } })).toBe(`It is ${where} as terminating.`)
    expect(explained({ own, problem: new Error('no route') })).toBe(`It is ${where}: no route.`)
    expect(explained({ own, isListed: false })).toBe(`It is to be ${where}, but is not.`)
    expect(explained({ own, isListed: false, problem: new Error('no route') })).toBe(
      `It is to be ${where}, but is not: no route.`,
    )
  })

  test('says what it waits for, or that it has ended', () => {
    expect(explained({ mode: 'none' })).toBe('It writes no EndpointSlice (mode `none`).')
    expect(explained({ isStarted: false })).toBe('It has not looked at the EndpointSlice shop-tenure yet.')
    expect(explained({ isStopped: true })).toBe('It has stopped and left the EndpointSlice shop-tenure.')
  })

  test('ends with what the group says', () => {
    expect(explained({ group: 'The group has 2 members.' })).toBe(
      'It is not in the EndpointSlice shop-tenure with 2 entries, because it is not ready yet. The group has 2 members.',
    )
  })
})
