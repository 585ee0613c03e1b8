import { alwaysALeader } from './always-a-leader.ts'
import { entitledToAct } from './entitled-to-act.ts'
import { quickPreference } from './quick-preference.ts'
import { bestLeads } from './best-leads.ts'
import { eventuallyStable } from './eventually-stable.ts'
import { epochsGrow } from './epochs-grow.ts'
import { nothingLeft } from './nothing-left.ts'
import { freshActs } from './fresh-acts.ts'
import { freshReads } from './fresh-reads.ts'
import { fewChanges } from './few-changes.ts'
import { noLostAdd } from './no-lost-add.ts'
import { oneTermAtATime } from './one-term-at-a-time.ts'
import type { Oracle } from './oracle.ts'
import { quickSuccession } from './quick-succession.ts'
import { releaseWhenEmpty } from './release-when-empty.ts'
import { writesInOrder } from './writes-in-order.ts'

/** Every rule, in order. */
export const ORACLES: readonly Oracle[] = [
  oneTermAtATime,
  writesInOrder,
  releaseWhenEmpty,
  noLostAdd,
  alwaysALeader,
  epochsGrow,
  nothingLeft,
  fewChanges,
  quickSuccession,
  freshReads,
  bestLeads,
  entitledToAct,
  quickPreference,
  eventuallyStable,
  freshActs,
]
