import type { LeaseRecord } from '../../lock/lease-record.ts'
import type { Instant, TermKey } from '../machine/event.ts'
import type { Memory } from '../machine/state.ts'
import { isWrittenAs } from './records.ts'
import { isTermOf, termOf } from './term-key.ts'

/** Allocates the number of the next request. */
export function nextRequest(memory: Memory): Memory {
  return { ...memory, requests: memory.requests + 1 }
}

/** Whether a leader may still act that has not seen that its lease was deleted, or that a coordinator named this replica. */
export function isEarly({ actNotBefore }: Memory, at: Instant): boolean {
  return actNotBefore !== undefined && at.now < actNotBefore
}

export function isOwn(memory: Memory, record: LeaseRecord): boolean {
  return memory.own !== undefined && isWrittenAs(record, memory.own)
}

/** Whether a record belongs to a term of this process, also after an edit by another client. */
export function isOwnTerm({ own }: Memory, record: LeaseRecord): boolean {
  return own !== undefined && isTermOf(record, termOf(own))
}

/** Remembers that a holder is proved dead. */
export function withDeadHolder(memory: Memory, holder: TermKey, { now }: Instant): Memory {
  return { ...memory, deadHolder: { ...holder, since: now } }
}

export function withWatch(memory: Memory, watch: Memory['watch'], at: Instant): Memory {
  return memory.watch === watch ? memory : { ...memory, watch, watchSince: at.now }
}
