import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { LeadershipEndedError } from '../../src/election/leadership-ended-error.ts'
import { Leadership } from '../../src/term/leadership.ts'

function createLeadership() {
  const clock = new VirtualClock()
  return { clock, leadership: new Leadership({ epoch: 7n, lease: 'ops/janitor', validUntil: 1000, clock }) }
}

describe('Leadership', () => {
  test('is held until its time is up', async () => {
    const { clock, leadership } = createLeadership()
    expect(leadership.isHeld()).toBe(true)
    expect(leadership.remainingMs()).toBe(1000)
    await clock.advance(999)
    expect(leadership.remainingMs()).toBe(1)
    await clock.advance(1)
    expect(leadership.isHeld()).toBe(false)
    expect(leadership.remainingMs()).toBe(0)
  })

  test('is not held when its time is up although no timer had a chance to fire', () => {
    const { clock, leadership } = createLeadership()
    clock.stall(1000)
    expect(leadership.gateSignal.aborted).toBe(false)
    expect(leadership.isHeld()).toBe(false)
  })

  test('aborts the requests in flight when its time is up', async () => {
    const { clock, leadership } = createLeadership()
    await clock.advance(1000)
    expect(leadership.gateSignal.reason).toEqual(new LeadershipEndedError('renew-deadline', 7n))
  })

  test('lasts longer with every renewal, and its gate closes at the end of the last one', async () => {
    const { clock, leadership } = createLeadership()
    await clock.advance(600)
    leadership.extend(1600)
    await clock.advance(999)
    expect(leadership.isHeld()).toBe(true)
    expect(leadership.gateSignal.aborted).toBe(false)
    await clock.advance(1)
    // `isHeld()` would close the gate.
    expect(leadership.gateSignal.aborted).toBe(true)
    expect(leadership.isHeld()).toBe(false)
  })

  test('ends earlier when its time is shortened, and its gate closes then', async () => {
    const { clock, leadership } = createLeadership()
    leadership.shorten(400)
    expect(leadership.remainingMs()).toBe(400)
    await clock.advance(399)
    expect(leadership.gateSignal.aborted).toBe(false)
    await clock.advance(1)
    expect(leadership.gateSignal.aborted).toBe(true)
    expect(clock.pendingTimers).toBe(0)
  })

  test('needs no timer when its time is shortened after its gate has closed', () => {
    const { clock, leadership } = createLeadership()
    leadership.closeGate('superseded')
    leadership.shorten(400)
    expect(clock.pendingTimers).toBe(0)
  })

  test('closes its gate soon after a suspension of the machine that lasted until its time was up', async () => {
    const { clock, leadership } = createLeadership()
    clock.suspend(1000)
    await clock.advance(100)
    expect(leadership.gateSignal.aborted).toBe(true)
  })

  test('closes at once when it is superseded, whatever the clock says, and no renewal opens it again', () => {
    const { leadership } = createLeadership()
    leadership.closeGate('superseded')
    leadership.extend(9000)
    expect(leadership.isHeld()).toBe(false)
    expect(leadership.remainingMs()).toBe(0)
    expect(leadership.gateSignal.reason).toMatchObject({ code: 'LEADERSHIP_ENDED', reason: 'superseded', epoch: 7n })
  })

  test('keeps the reason of the first close and leaves no timer', async () => {
    const { clock, leadership } = createLeadership()
    leadership.closeGate('superseded')
    leadership.closeGate('shutdown')
    expect(leadership.gateSignal.reason).toMatchObject({ reason: 'superseded' })
    expect(clock.pendingTimers).toBe(0)
  })
})
