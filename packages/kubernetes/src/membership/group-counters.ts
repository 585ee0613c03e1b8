import type { Member, MemberChange } from './member.ts'
import { LabelledCounter, metricsView, type MetricsView } from './metrics-view.ts'

const STATES = ['living', 'suspect'] as const
const KINDS = ['joined', 'changed', 'suspect', 'left', 'gone'] as const
const OUTCOMES = ['ok', 'failed'] as const

/** Counts what happens to a group, and renders it as metrics. */
export class GroupCounters {
  readonly changes: LabelledCounter<MemberChange['kind']> = new LabelledCounter()
  readonly writes: LabelledCounter<(typeof OUTCOMES)[number]> = new LabelledCounter()
  readonly view: MetricsView

  constructor(group: string, members: () => readonly Member[]) {
    const count = (state: Member['state']) => members().filter((member) => member.state === state).length
    this.view = metricsView([
      {
        name: 'tenure_members',
        help: 'Members of a group as this replica sees them, by state.',
        type: 'gauge',
        labelNames: ['group', 'state'],
        values: () => STATES.map((state) => ({ labels: { group, state }, value: count(state) })),
      },
      {
        name: 'tenure_member_changes_total',
        help: 'Changes of members of a group as this replica saw them, by kind.',
        type: 'counter',
        labelNames: ['group', 'kind'],
        values: () => this.changes.values('kind', KINDS, { group }),
      },
      {
        name: 'tenure_member_writes_total',
        help: 'Writes of the identity Lease of this replica, by outcome.',
        type: 'counter',
        labelNames: ['group', 'outcome'],
        values: () => this.writes.values('outcome', OUTCOMES, { group }),
      },
    ])
  }
}
