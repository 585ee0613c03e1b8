import { Counter } from 'prom-client'
import { Controller, metrics, type Term } from 'tenure'

/** What needs a leader: here a loop that counts, and finishes its round when the term ends. */
export class Sweeper extends Controller {
  override readonly name = 'sweeper'

  override async run(term: Term): Promise<void> {
    const rounds = new Counter({ name: 'sweeper_rounds_total', help: 'Rounds.', registers: [metrics(term)] })
    await term.every(1000, () => rounds.inc())
    console.log('the last round is over')
  }
}
