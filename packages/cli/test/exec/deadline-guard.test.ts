import type { CandidacyEvent } from 'tenure'
import { describe, expect, it } from 'vitest'
import { changeOfDeadline } from '../../src/exec/deadline-guard.ts'

const RENEWED: CandidacyEvent = { lease: 'a', kind: 'renewed', elapsedMs: 1, remainingMs: 0 }
const BEGAN: CandidacyEvent = { lease: 'a', kind: 'term-began', epoch: 1n, handoverMs: 0 }
const RELEASING: CandidacyEvent = {
  lease: 'a',
  kind: 'state',
  from: { kind: 'draining', epoch: 1n, reason: 'shutdown' },
  to: { kind: 'releasing', epoch: 1n },
}

describe('the deadline of `tenure exec`', () => {
  it('moves with the beginning of a term and with every renewal', () => {
    expect(changeOfDeadline(BEGAN, 14_000)).toBe('hold')
    expect(changeOfDeadline(RENEWED, 14_000)).toBe('hold')
  })

  it('is lifted when nothing of the program is left', () => {
    expect(changeOfDeadline(RELEASING, 14_000)).toBe('lift')
  })

  it('stays when a renewal is acknowledged after the last task has ended, so that it does not kill a process that releases', () => {
    expect(changeOfDeadline(RENEWED, 0)).toBe('keep')
  })
})
