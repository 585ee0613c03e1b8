import { textOf } from '@tenure/core/internal'
import type { Member } from './member.ts'

/** What an explanation is made of. */
export interface GroupSituation {
  readonly group: string
  readonly isStarted: boolean
  readonly isStopped: boolean
  readonly members: readonly Member[]
  readonly isCurrent: boolean
  /** Why the own Lease could not be written, or the others not be read. */
  readonly problem: Error | undefined
}

/** Explains who is there in one or two sentences. */
export function explainGroup(situation: GroupSituation): string {
  const { group, isStarted, isStopped, members, isCurrent, problem } = situation
  if (isStopped) return `It has left the group ${group}.`
  if (!isStarted) return `It has not joined the group ${group} yet.`
  const suspects = members.filter(({ state }) => state === 'suspect')
  const overdue =
    suspects.length === 0 ? '' : `; the renewals of ${suspects.map(({ identity }) => identity).join(', ')} are overdue`
  const who = `It sees ${members.length} members of the group ${group}${overdue}.`
  if (isCurrent) return who
  const why = problem === undefined ? '' : `: ${textOf(problem)}`
  return `${who} It cannot see or renew at present, so it drops nobody${why}.`
}
