import type { Candidacy } from '@tenure/core'
import { Counter, Gauge, type Registry } from 'prom-client'

/** What these metrics read from a candidacy. */
type ChoosingCandidacy = Pick<Candidacy, 'lease' | 'choice'>

type Choice = NonNullable<Candidacy['choice']>

const DECIDERS: Readonly<Record<Choice['decidedBy'], true>> = { peers: true, server: true, asking: true }

/** Reads the choices when a page is rendered. */
type ReadChoices = () => readonly (Choice & { readonly name: string })[]

/** Metrics of how the leader is chosen, for leases with a strategy. Others have no series. */
export function defineChoiceMetrics(registry: Registry, candidacies: () => readonly ChoosingCandidacy[]): void {
  const choices: ReadChoices = () =>
    candidacies().flatMap(({ lease: name, choice }) => (choice === undefined ? [] : [{ name, ...choice }]))
  registry.registerMetric(deciderGauge(choices))
  registry.registerMetric(rankGauge(choices))
  registry.registerMetric(pingCounter(choices))
  registry.registerMetric(preemptionCounter(choices))
}

function deciderGauge(choices: ReadChoices): Gauge<'name' | 'decider'> {
  return new Gauge({
    name: 'tenure_election_decider',
    help: 'Who decides which replica leads, by the last answer of the API server: 1 for the decider, 0 for the others. `asking`: there was no answer yet.',
    labelNames: ['name', 'decider'],
    registers: [],
    collect() {
      for (const { name, decidedBy } of choices()) {
        for (const decider of Object.keys(DECIDERS)) this.set({ name, decider }, Number(decider === decidedBy))
      }
    },
  })
}

function rankGauge(choices: ReadChoices): Gauge<'name'> {
  return new Gauge({
    name: 'tenure_candidate_rank',
    help: 'The place of this replica among those that the lease shows, 1 for the best. Without a value while it is not known, and while the API server decides.',
    labelNames: ['name'],
    registers: [],
    collect() {
      this.reset()
      for (const { name, rank } of choices()) if (rank !== undefined) this.set({ name }, rank)
    },
  })
}

function pingCounter(choices: ReadChoices): Counter<'name' | 'answer'> {
  return new Counter({
    name: 'tenure_candidate_pings_total',
    help: 'Pings of the election controller of the API server that this replica answered. `late`: after more than 5 s, so that the controller may have passed it over.',
    labelNames: ['name', 'answer'],
    registers: [],
    collect() {
      this.reset()
      for (const { name, pings } of choices()) {
        this.inc({ name, answer: 'in-time' }, pings.answered)
        this.inc({ name, answer: 'late' }, pings.late)
      }
    },
  })
}

function preemptionCounter(choices: ReadChoices): Counter<'name' | 'outcome'> {
  return new Counter({
    name: 'tenure_preemptions_total',
    help: 'Better candidates that this replica saw while it led. `handed-over`: its term ended for them. `unavailable`: they were gone or did not answer, and it led on.',
    labelNames: ['name', 'outcome'],
    registers: [],
    collect() {
      this.reset()
      for (const { name, preemptions } of choices()) {
        this.inc({ name, outcome: 'handed-over' }, preemptions.handedOver)
        this.inc({ name, outcome: 'unavailable' }, preemptions.unavailable)
      }
    },
  })
}
