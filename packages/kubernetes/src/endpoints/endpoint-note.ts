import type { Member } from '../membership/member.ts'
import { type AddressType, canonicalAddress, familyOf } from './endpoint-address.ts'
import { endpointBody, readEndpoint, type SliceEndpoint } from './slice-endpoint.ts'

/** A longer note is not read. */
const MAX_NOTE_LENGTH = 2048

/** The key of the note in which a member says what it wants to be in a slice. */
export function noteKey(slice: string): string {
  return `endpoint ${slice}`
}

/** What this replica tells the others. */
export function formatNote(endpoint: SliceEndpoint): string {
  return JSON.stringify(endpointBody(endpoint))
}

/** What a member wants to be in the slice. Undefined for nothing, and for what no slice of this family may hold: anybody may write it. */
export function readNote(member: Member, slice: string, family: AddressType): SliceEndpoint | undefined {
  const note = member.notes[noteKey(slice)]
  if (note === undefined || note.length > MAX_NOTE_LENGTH) return undefined
  const endpoint = readEndpoint(tryParse(note))
  if (endpoint === undefined || familyOf(endpoint.address) !== family) return undefined
  return { ...endpoint, address: canonicalAddress(endpoint.address) }
}

/** What a member wants to be in a slice. */
export interface WantedEndpoint {
  readonly endpoint: SliceEndpoint
  /** When the member was last seen to renew its Lease, in monotonic milliseconds. */
  readonly renewedAt: number
}

/** What the members want, one entry per address: a living member before a suspect one, a ready one before the others. */
export function wantedEndpoints(
  members: readonly Member[],
  slice: string,
  family: AddressType,
): readonly WantedEndpoint[] {
  const best = new Map<string, WantedEndpoint & { readonly score: number }>()
  for (const member of members) {
    const endpoint = readNote(member, slice, family)
    if (endpoint === undefined) continue
    const score = (member.state === 'living' ? 2 : 0) + (endpoint.ready ? 1 : 0)
    if (score > (best.get(endpoint.address)?.score ?? -1))
      best.set(endpoint.address, { endpoint, renewedAt: member.renewedAt, score })
  }
  return [...best.values()]
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
