import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import type { TermOverEvent } from '../../src/candidacy/events.ts'
import { gatedFetch } from '../../src/gate/gated-fetch.ts'
import { WriteGateClosedError } from '../../src/gate/write-gate-closed-error.ts'
import { MemoryLeaseStore } from '../../src/lock/memory-lock.ts'
import { Manager } from '../../src/manager/manager.ts'
import type { Term } from '../../src/term/term.ts'

/** A leader in virtual time, whose controller lasts as long as its term. */
async function lead() {
  const clock = new VirtualClock()
  const store = new MemoryLeaseStore()
  const terms: Term[] = []
  const overs: TermOverEvent[] = []
  const manager = new Manager({
    identity: 'me',
    lease: { name: 'lease' },
    clock,
    random: () => 0.5,
    createLock: ({ name }) => store.lock(name),
  })
  const run = async (term: Term): Promise<void> => {
    terms.push(term)
    await new Promise((resolve) => term.signal.addEventListener('abort', resolve, { once: true }))
  }
  manager.register(() => ({ name: 'worker', run }))
  manager.on((event) => {
    if (event.kind === 'term-over') overs.push(event)
  })
  const running = manager.start()
  await clock.advance(500)
  const [term] = terms
  if (term === undefined) throw new Error('Expected a term to have begun')
  const stop = async (): Promise<void> => {
    await Promise.all([manager.stop(), clock.advance(60_000)])
    await running
  }
  return { clock, store, term, overs, stop }
}

describe('an event loop that stands still', () => {
  test('beyond the term: the first check ends it as stalled, before it returns', async () => {
    const { clock, term, overs, stop } = await lead()
    clock.stall(15_000)
    expect(term.signal.aborted).toBe(false)
    expect(term.isHeld()).toBe(false)
    expect(term.signal.reason).toMatchObject({ code: 'LEADERSHIP_ENDED', reason: 'stalled' })
    expect(term.hardSignal.aborted).toBe(true)
    await clock.advance(1)
    expect(overs).toMatchObject([{ reason: 'stalled', outcome: 'expired' }])
    await stop()
  })

  test('beyond the term: the first write is refused, and ends it', async () => {
    const { clock, term, stop } = await lead()
    clock.stall(15_000)
    const write = gatedFetch(term, () => Promise.reject(new Error('the network was reached')))
    await expect(write('http://service.test/', { method: 'POST' })).rejects.toBeInstanceOf(WriteGateClosedError)
    expect(term.signal.reason).toMatchObject({ reason: 'stalled' })
    await stop()
  })

  test('beyond the renew deadline: the first event that comes in ends it as stalled, though time would be left', async () => {
    const { clock, store, term, overs, stop } = await lead()
    clock.stall(12_000)
    expect(term.isHeld()).toBe(true)
    const lock = store.lock('lease')
    const snapshot = await lock.get({ signal: new AbortController().signal })
    if (snapshot.kind !== 'present') throw new Error('Expected the lease to be there')
    const annotations = { ...snapshot.record.annotations, 'tenure.dev/note': 'from outside' }
    await lock.update(snapshot, { ...snapshot.record, annotations }, { signal: new AbortController().signal })
    await clock.runAllMicrotasks()
    expect(term.signal.reason).toMatchObject({ reason: 'stalled' })
    await clock.advance(1)
    expect(overs).toMatchObject([{ reason: 'stalled', outcome: 'expired' }])
    await stop()
  })

  test('for less is made up for: the term goes on', async () => {
    const { clock, term, overs, stop } = await lead()
    clock.stall(8000)
    await clock.advance(500)
    expect([term.isHeld(), term.signal.aborted, overs]).toEqual([true, false, []])
    expect(term.remainingMs()).toBeGreaterThan(13_000)
    await stop()
  })
})

describe('a machine that was suspended', () => {
  test('beyond the term: the first check ends it as stalled, before any timer', async () => {
    const { clock, term, stop } = await lead()
    clock.suspend(15_000)
    expect(term.isHeld()).toBe(false)
    expect([term.signal.aborted, term.hardSignal.aborted, term.gateSignal.aborted]).toEqual([true, true, true])
    expect(term.signal.reason).toMatchObject({ reason: 'stalled' })
    await stop()
  })

  test('beyond the term: ends it within 100 ms without any check, and aborts the writes in flight', async () => {
    const { clock, term, overs, stop } = await lead()
    const send = gatedFetch(term, (_url, init) => {
      const { promise, reject } = Promise.withResolvers<Response>()
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason), { once: true })
      return promise
    })
    const write = send('http://service.test/', { method: 'POST' }).catch((error: unknown) => error)
    clock.suspend(15_000)
    await clock.advance(99)
    expect(term.signal.aborted).toBe(false)
    await clock.advance(1)
    expect([term.signal.aborted, term.hardSignal.aborted]).toEqual([true, true])
    expect(await write).toMatchObject({ code: 'WRITE_GATE_CLOSED', outcome: 'unknown' })
    expect(overs).toMatchObject([{ reason: 'stalled', outcome: 'expired' }])
    await stop()
  })

  test('for less goes on with its term, and renews within 100 ms', async () => {
    const { clock, term, overs, stop } = await lead()
    clock.suspend(8000)
    expect(term.remainingMs()).toBeLessThan(6300)
    await clock.advance(110)
    expect(term.remainingMs()).toBeGreaterThan(14_000)
    expect([term.isHeld(), overs]).toEqual([true, []])
    await stop()
  })

  test('while it followed takes a lease that has expired within 100 ms', async () => {
    const clock = new VirtualClock()
    const store = new MemoryLeaseStore()
    const manager = new Manager({
      identity: 'me',
      lease: { name: 'lease' },
      clock,
      random: () => 0.5,
      createLock: ({ name }) => store.lock(name),
    })
    manager.register(() => ({ name: 'worker', run: (term) => term.sleep(1e9) }))
    const times = { leaseDurationSeconds: 15, acquireTime: '', renewTime: '', leaseTransitions: 0 }
    const record = { ...times, holderIdentity: 'gone', annotations: {} }
    await store.lock('lease').create(record, { signal: new AbortController().signal })
    const running = manager.start()
    await clock.advance(500)
    clock.suspend(15_000)
    await clock.advance(200)
    expect(manager.state.kind).toBe('leading')
    await Promise.all([manager.stop(), clock.advance(60_000)])
    await running
  })
})
