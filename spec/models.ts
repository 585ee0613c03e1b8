import {
  configOfStandbys,
  LONG_STANDBY_MODELS,
  set,
  STANDBY_MODELS,
  type StandbyInvariant,
  type StandbyModel,
  WRONG_STANDBY_MODELS,
} from './standby-models.ts'

/** A configuration for the model checker. */
export type Model = LeaseModel | StandbyModel

/** The constants of a model of the lease. */
export interface LeaseModel {
  readonly name: string
  readonly module?: 'Tenure' | 'Progress'
  readonly replicas?: number
  readonly peers?: number
  readonly slots?: number
  /** The ticks of a lease. 2 make the model smaller. @default 3 */
  readonly lease?: number
  /** The ticks by which validity is shorter than the lease. 0 if all clocks run at the same rate. @default 1 */
  readonly margin?: number
  readonly versions: number
  readonly restarts?: number
  readonly deletions?: number
  readonly answers?: number
  readonly restores?: number
  /** How many ticks others wait after a transfer. @default the lease duration */
  readonly transfer?: number
  readonly features?: readonly Feature[]
}

/** A model with broken rules, and the invariant that it must violate. */
export type WrongModel = Model & Broken

interface Broken {
  readonly wrong: readonly string[]
  readonly violates: Invariant | StandbyInvariant
}

type Feature =
  | 'drift'
  | 'seconds'
  | 'transfer'
  | 'death'
  | 'pods'
  | 'absent'
  | 'offered'
  | 'edits'
  | 'shortened'
  | 'restore'
  | 'standbys'
  | 'coordinator'
  | 'stuck'
  | 'led'

type Invariant = 'S1' | 'S3' | 'S4' | 'S5' | 'S6' | 'D1' | 'A1' | 'L1'

const SAFETY: readonly Invariant[] = ['S1', 'S3', 'S4', 'S5', 'S6', 'D1', 'A1']

/** Four versions: those of a leader, a coordinator or a deletion, and two more. */
const named = { versions: 4, restarts: 1, lease: 2, margin: 0 } as const

/** The protocol in parts, each with the faults that its rules protect against. */
export const MODELS: readonly Model[] = [
  { name: 'validity, expiry, release', versions: 4, features: ['drift'] },
  { name: 'restarts', versions: 3, restarts: 1, features: ['drift'] },
  { name: 'two writes of unknown outcome each', versions: 3, slots: 2 },
  { name: 'deletion of the lease', versions: 4, deletions: 2, features: ['absent'] },
  { name: 'answered transfer', versions: 4, answers: 1, features: ['transfer', 'offered'] },
  // Three versions: the record of the proof, its successor, and a late write. `--long` has more.
  { name: 'proved death', versions: 3, restarts: 1, features: ['death', 'pods'] },
  { name: 'a duration that somebody shortens', versions: 4, features: ['shortened'] },
  { name: 'a restored store', versions: 4, restores: 1, features: ['restore'] },
  { name: 'a coordinator that names anybody', versions: 4, features: ['coordinator'] },
  {
    name: 'a lease that is stuck under a coordinator',
    ...named,
    restarts: 0,
    features: ['coordinator', 'stuck', 'led'],
  },
  { name: 'edits beside slow clocks', versions: 4, features: ['drift', 'shortened'] },
  { name: 'a leader after a restore', module: 'Progress', versions: 7, restores: 1, features: ['restore'] },
  { name: 'beside client-go', versions: 3, replicas: 1, peers: 1, margin: 0, features: ['seconds'] },
  { name: 'a leader within the bound', module: 'Progress', versions: 6, features: ['edits'] },
  { name: 'followers that join and leave the standbys', versions: 4, features: ['standbys'] },
  { name: 'a leader while followers join', module: 'Progress', versions: 7, features: ['standbys', 'edits'] },
  ...STANDBY_MODELS,
]

/** The same with more replicas, versions and faults. */
export const LONG_MODELS: readonly Model[] = [
  { name: 'validity, expiry, release, restarts', versions: 5, restarts: 1, features: ['drift'] },
  { name: 'three replicas', versions: 4, replicas: 3 },
  { name: 'two writes of unknown outcome each', versions: 4, slots: 2 },
  { name: 'a duration that somebody shortens', versions: 5, features: ['drift', 'shortened'] },
  { name: 'deletion of the lease', versions: 6, deletions: 2, features: ['absent', 'drift'] },
  { name: 'answered transfer', versions: 4, answers: 2, features: ['transfer', 'offered'] },
  {
    name: 'a transfer that outlasts the lease',
    versions: 5,
    answers: 1,
    transfer: 5,
    features: ['transfer', 'offered'],
  },
  { name: 'answered transfer, from the start', versions: 6, answers: 1, features: ['transfer'] },
  { name: 'proved death', versions: 4, restarts: 1, features: ['death'] },
  { name: 'proved death of a second process', versions: 4, restarts: 2, lease: 2, margin: 0, features: ['death'] },
  { name: 'proved death and the term after it', versions: 5, restarts: 1, lease: 2, margin: 0, features: ['death'] },
  { name: 'beside client-go', versions: 4, replicas: 1, peers: 1, margin: 0, features: ['seconds'] },
  { name: 'a leader within the bound', module: 'Progress', versions: 9, replicas: 3, features: ['edits'] },
  { name: 'a coordinator that names anybody', versions: 6, features: ['coordinator'] },
  { name: 'a lease that is stuck under a coordinator', versions: 4, features: ['coordinator', 'stuck', 'led'] },
  { name: 'a lease that is stuck beside restarts', ...named, features: ['coordinator', 'stuck', 'led'] },
  { name: 'a coordinator beside proved deaths', ...named, features: ['coordinator', 'death', 'led'] },
  { name: 'a deleted lease beside proved deaths', ...named, deletions: 1, features: ['death', 'led'] },
  { name: 'a coordinator beside slow clocks', versions: 4, features: ['coordinator', 'drift'] },
  { name: 'followers that join and leave the standbys', versions: 5, features: ['drift', 'standbys'] },
  ...LONG_STANDBY_MODELS,
]

const transfer = { versions: 4, answers: 1, features: ['transfer', 'offered'] } as const
const wrong = (name: string, violates: Invariant, model: Omit<LeaseModel, 'name'>): LeaseModel & Broken => ({
  name,
  wrong: [name],
  violates,
  ...model,
})

/** A variant for each rule of the protocol, with that rule broken. */
export const WRONG_MODELS: readonly WrongModel[] = [
  wrong('validity from the response', 'S1', { versions: 4 }),
  wrong('validity from reading back', 'S1', { versions: 4 }),
  wrong('clocks without a margin', 'S1', { versions: 4, features: ['drift'] }),
  wrong('release without comparing', 'S1', { versions: 5 }),
  wrong('release without comparing', 'S4', { versions: 5 }),
  wrong('release before the drain', 'S1', { versions: 4 }),
  wrong('release before the drain', 'S3', { versions: 4 }),
  wrong('tasks started again', 'S1', { versions: 4 }),
  wrong('transfer without a nonce', 'S1', transfer),
  wrong('transfer with a used nonce', 'S6', transfer),
  wrong('transfer counted from the event', 'S1', transfer),
  wrong('transfer counted beyond the first renewal', 'S1', { ...transfer, versions: 5, transfer: 5 }),
  wrong('transfer acted on after an acquisition', 'S1', { ...transfer, versions: 5, transfer: 5 }),
  wrong('expiry from the send of a poll', 'S1', { versions: 4 }),
  wrong('expiry by an edited duration', 'S1', { versions: 4, features: ['shortened'] }),
  wrong('renewals before an edit forgotten', 'S1', { versions: 5, features: ['shortened'] }),
  wrong('written on a fresher version', 'S1', { versions: 4 }),
  wrong('death of a reused identity', 'S1', { versions: 4, restarts: 1, features: ['death'] }),
  wrong('death by a missing Pod', 'S1', { versions: 4, features: ['death', 'pods'] }),
  wrong('deleted lease created and acted on', 'S1', { versions: 4, deletions: 1 }),
  wrong('deleted lease waited for', 'S1', { versions: 5, deletions: 2 }),
  wrong('second renewal in one second', 'S1', { versions: 4, replicas: 1, peers: 1, margin: 0, features: ['seconds'] }),
  wrong('own lease taken again in one second', 'S1', {
    versions: 4,
    replicas: 1,
    peers: 1,
    margin: 0,
    features: ['seconds'],
  }),
  {
    ...wrong("answer's version as epoch", 'S6', transfer),
    wrong: ["answer's version as epoch", 'answers kept'],
  },
  wrong('transitions as epoch', 'S6', { versions: 4 }),
  wrong('death of the predecessor', 'D1', { versions: 4, restarts: 1, features: ['death'] }),
  wrong('death of the predecessor', 'S1', { versions: 4, restarts: 1, features: ['death'] }),
  wrong('backup believed', 'S1', { versions: 5, restores: 1, features: ['restore'] }),
  wrong('epoch from the store alone', 'S6', { versions: 6, restores: 1, features: ['restore'] }),
  wrong('missed term forgotten', 'S6', { versions: 6, restores: 1, features: ['restore'] }),
  wrong('terms that the backup forgot counted', 'S1', { versions: 5, restarts: 1, restores: 1, features: ['restore'] }),
  wrong('stale writes counted', 'S1', { versions: 7, restarts: 1, restores: 1, features: ['restore'] }),
  wrong('restored store taken for a late watch', 'L1', {
    module: 'Progress',
    versions: 7,
    restores: 1,
    features: ['restore'],
  }),
  wrong('change judged by version', 'L1', { module: 'Progress', versions: 6, features: ['edits'] }),
  wrong('named holder believed', 'S1', { versions: 5, features: ['coordinator'] }),
  wrong('duration of the coordinator waited for', 'S1', { versions: 5, features: ['coordinator'] }),
  wrong('guard forgotten', 'S1', { versions: 6, features: ['coordinator'] }),
  wrong('gap not noticed', 'S1', { versions: 6, features: ['coordinator'] }),
  wrong('stuck lease freed too early', 'S1', { ...named, features: ['coordinator', 'stuck', 'led'] }),
  wrong('stuck lease freed with new times', 'S4', { ...named, features: ['coordinator', 'stuck', 'led'] }),
  wrong('process named while it waits', 'S1', { ...named, features: ['coordinator', 'death', 'led'] }),
  wrong('process named while it waits', 'S1', { ...named, deletions: 1, features: ['death', 'led'] }),
  wrong('announcement without comparing', 'S1', { versions: 5, features: ['standbys'] }),
  wrong('announcement without comparing', 'A1', { versions: 5, features: ['standbys'] }),
  wrong('announcement with a renew time', 'A1', { versions: 4, features: ['standbys'] }),
  wrong('announcement with a renew time', 'L1', { module: 'Progress', versions: 7, features: ['standbys'] }),
  ...WRONG_STANDBY_MODELS.map(([name, violates, model]) => ({ name, wrong: [name], violates, ...model })),
]

/** The configuration of a model for the model checker. */
export function configOf(given: Model & Partial<Broken>): string {
  if (given.module === 'Standbys') return configOfStandbys(given, given.wrong ?? [], given.violates)
  const model = { ...DEFAULTS, ...given }
  const isCalm = model.module === 'Progress'
  const invariants = isCalm ? [...SAFETY, 'L1'] : SAFETY
  return [
    `SPECIFICATION ${isCalm ? 'SpecCalm' : 'Spec'}`,
    'CONSTANTS',
    ...constantsOf(model),
    `VIEW ${isCalm ? 'StateCalm' : 'State'}`,
    ...(isCalm ? [] : ['SYMMETRY Symmetry']),
    `INVARIANTS ${(given.violates === undefined ? invariants : [given.violates]).join(' ')}`,
    '',
  ].join('\n')
}

/** The same without symmetry and views, so that the checker writes every state and every step of the model. */
export function graphConfigOf(given: LeaseModel): string {
  const model = { ...DEFAULTS, ...given }
  return ['SPECIFICATION Spec', 'CONSTANTS', ...constantsOf(model), `INVARIANTS ${SAFETY.join(' ')}`, ''].join('\n')
}

const DEFAULTS = {
  module: 'Tenure',
  replicas: 2,
  peers: 0,
  slots: 1,
  lease: 3,
  margin: 1,
  restarts: 0,
  deletions: 0,
  answers: 0,
  restores: 0,
  transfer: 3,
  features: [],
  wrong: [],
} as const satisfies Partial<LeaseModel & Broken>

function constantsOf(model: Required<LeaseModel> & Pick<Broken, 'wrong'>): readonly string[] {
  const replicas = names('r', model.replicas)
  const peers = names('f', model.peers)
  return [
    ...[...replicas, ...peers].map((name) => `  ${name} = ${name}`),
    `  Replicas = ${set(replicas)}`,
    `  Peers = ${set(peers)}`,
    `  LeaseTicks = ${model.lease}`,
    `  MarginTicks = ${model.margin}`,
    `  TransferTicks = ${model.transfer}`,
    `  Slots = ${set(Array.from({ length: model.slots }, (_, index) => index + 1))}`,
    `  MaxVersion = ${model.versions}`,
    `  MaxRestarts = ${model.restarts}`,
    `  MaxDeletions = ${model.deletions}`,
    `  MaxAnswers = ${model.answers}`,
    `  MaxRestores = ${model.restores}`,
    `  Features = ${set(model.features.map((feature) => JSON.stringify(feature)))}`,
    `  Wrong = ${set(model.wrong.map((rule) => JSON.stringify(rule)))}`,
  ]
}

function names(letter: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${letter}${index + 1}`)
}
