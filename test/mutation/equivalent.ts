import { type Mutant, onOneLine, type Operator } from './mutant.ts'

/** A mutant that behaves like the original. The runner recognises it by its file, operator and text, not by its line. */
export interface EquivalentMutant {
  /** From the root of the project. */
  readonly file: string
  readonly operator: Operator
  /** The line of the source in which the change begins, without the space around it. */
  readonly line: string
  /** What the operator changes; space counts as one blank. */
  readonly before: string
  readonly after: string
  /** Why nothing that a user could see is different. */
  readonly reason: string
}

/** Every known mutant that changes nothing. `npm run mutation` fails for an entry without a place in the sources. */
export const EQUIVALENT: readonly EquivalentMutant[] = [
  {
    file: 'packages/core/src/election/machine/transition.ts',
    operator: 'ConditionalExpression',
    line: 'if (state.memory.candidate === undefined && before.memory.candidate === undefined) return step',
    before: 'state.memory.candidate === undefined',
    after: 'true',
    reason:
      'A replica becomes a candidate when it sends its answer, and warms up only when the answer stands in the lease. So the step in ' +
      'which it becomes a candidate neither begins nor ends a warm-up, and a term that begins had a candidate before.',
  },
  ...[
    { operator: 'ConditionalExpression', after: 'true' } as const,
    { operator: 'EqualityOperator', after: 'actNotBefore >= at.now' } as const,
  ].map((change) => ({
    file: 'packages/core/src/election/phases/acquiring.ts',
    line: 'actNotBefore: actNotBefore > at.now ? actNotBefore : undefined,',
    before: 'actNotBefore > at.now',
    reason: 'All that read it ask whether it is later than now. A moment that has come, or none, holds nothing back.',
    ...change,
  })),
  {
    file: 'packages/core/src/election/phases/acquiring.ts',
    operator: 'StringLiteral',
    line: "const { heldForLife = false, missingLease = heldForLife ? 'wait' : 'create' } = config",
    before: "'create'",
    after: '""',
    reason: 'It is compared with `wait` only.',
  },
  {
    file: 'packages/core/src/election/phases/acquiring.ts',
    operator: 'BooleanLiteral',
    line: "if (observation.kind !== 'present') return false",
    before: 'false',
    after: 'true',
    reason:
      'A replica that acquires has a view of the lease, so the lease is present or absent: the check is for the types.',
  },
  {
    file: 'packages/core/src/election/phases/choosing.ts',
    operator: 'ConditionalExpression',
    line: 'return config.strategy === undefined || state.since !== undefined ? state : { ...state, since: at.now }',
    before: 'config.strategy === undefined',
    after: 'false',
    reason: 'Only a leader with a strategy reads the time.',
  },
  {
    file: 'packages/core/src/election/phases/choosing.ts',
    operator: 'ConditionalExpression',
    line: 'if (config.strategy === undefined) return undefined',
    before: 'config.strategy === undefined',
    after: 'false',
    reason: '`betterStandby()` finds none without a strategy.',
  },
  {
    file: 'packages/core/src/election/rules/memory.ts',
    operator: 'ArithmeticOperator',
    line: 'return { ...memory, requests: memory.requests + 1 }',
    before: 'memory.requests + 1',
    after: 'memory.requests - 1',
    reason: 'The number of a request only has to be unique.',
  },
  {
    file: 'packages/core/src/election/phases/hold.ts',
    operator: 'EqualityOperator',
    line: 'return isCheck(write) && written.version < lease.version ? lease : written',
    before: 'written.version < lease.version',
    after: 'written.version <= lease.version',
    reason: 'Of two views of one version, either is the result.',
  },
  {
    file: 'packages/core/src/election/elector.ts',
    operator: 'ConditionalExpression',
    line: 'if (traceChannel.hasSubscribers)',
    before: 'traceChannel.hasSubscribers',
    after: 'true',
    reason: 'Nobody hears what is published without subscribers. The check only saves time.',
  },
  ...[
    {
      operator: 'ConditionalExpression',
      before: 'this.#timer !== undefined && wakeAt !== undefined && this.#timerAt <= wakeAt',
      after: 'false',
    } as const,
    {
      operator: 'EqualityOperator',
      before: 'this.#timerAt <= wakeAt',
      after: 'this.#timerAt < wakeAt',
    } as const,
  ].map((change) => ({
    file: 'packages/core/src/election/elector.ts',
    line: 'if (this.#timer !== undefined && wakeAt !== undefined && this.#timerAt <= wakeAt) return',
    reason: 'A timer that is set again fires in time, too. To let it stay only saves time.',
    ...change,
  })),
  {
    file: 'packages/core/src/election/phases/reserving.ts',
    operator: 'EqualityOperator',
    line: 'const actNotBefore = notBefore > at.now ? notBefore : undefined',
    before: 'notBefore > at.now',
    after: 'notBefore >= at.now',
    reason: 'All that read it ask whether it is later than now. A moment that has come holds nothing back.',
  },
  {
    file: 'packages/core/src/election/phases/announcing.ts',
    operator: 'EqualityOperator',
    line: 'if (due === undefined || pace === undefined || before === undefined || pace <= before) return state',
    before: 'pace <= before',
    after: 'pace < before',
    reason: 'At the same pace, what is left of the wait stays as it is.',
  },
  {
    file: 'packages/core/src/election/phases/answering.ts',
    operator: 'MethodExpression',
    line: 'return { identity, nonce: `${memory.requests}-${at.random.toString(36).slice(2)}` }',
    before: 'at.random.toString(36).slice(2)',
    after: 'at.random.toString(36)',
    reason: 'A nonce only has to be unique. What the change adds is the same in every nonce.',
  },
  {
    file: 'packages/core/src/election/phases/releasing.ts',
    operator: 'MethodExpression',
    line: "return identity === undefined ? undefined : { identity, nonce: random.toString(36).slice(2) || '0' }",
    before: 'random.toString(36).slice(2)',
    after: 'random.toString(36)',
    reason: 'A nonce only has to be unique. What the change adds is the same in every nonce.',
  },
  {
    file: 'packages/core/src/candidacy/candidacy.ts',
    operator: 'ConditionalExpression',
    line: 'if (this.#options.config.strategy !== undefined) this.#elector?.factsChanged()',
    before: 'this.#options.config.strategy !== undefined',
    after: 'true',
    reason: 'It wakes the elector, which changes nothing where nothing is due. Without a strategy it reads no facts.',
  },
  {
    file: 'packages/core/src/lock/lock.ts',
    operator: 'EqualityOperator',
    line: 'return least > counted ? least : counted',
    before: 'least > counted',
    after: 'least >= counted',
    reason: 'Of two equal epochs, either is the result.',
  },
  {
    file: 'packages/core/src/term/leadership.ts',
    operator: 'ConditionalExpression',
    line: 'if (!this.#gate.signal.aborted) this.#gate.abort(new LeadershipEndedError(reason, this.epoch))',
    before: '!this.#gate.signal.aborted',
    after: 'true',
    reason: 'A signal aborts once and keeps its first reason. The check only saves an error.',
  },
  {
    file: 'packages/core/src/term/cache-barrier.ts',
    operator: 'EqualityOperator',
    line: 'return number > last ? number : last',
    before: 'number > last',
    after: 'number >= last',
    reason: 'Of two equal versions, either is the result.',
  },
  {
    file: 'packages/core/src/term/first-frame.ts',
    operator: 'StringLiteral',
    line: "const frames = (stack ?? '').split('\\n').slice(1)",
    before: "''",
    after: '"Stryker was here!"',
    reason: 'A text of one line has no frames.',
  },
  {
    file: 'packages/core/src/term/task-scope.ts',
    operator: 'BooleanLiteral',
    line: 'drain.ask({ voluntary: true, abortAt: Infinity, wedgedAt: Infinity, cleanups })',
    before: 'true',
    after: 'false',
    reason: 'The two kinds of end differ in their deadlines. Here neither has one besides the time of the cleanups.',
  },
  {
    file: 'packages/core/src/term/bequests.ts',
    operator: 'EqualityOperator',
    line: 'return first > second ? a : b',
    before: 'first > second',
    after: 'first >= second',
    reason: 'Versions have no leading zeros, so equal versions are the same text.',
  },
  {
    file: 'packages/core/src/watchdog/watchdog-worker.ts',
    operator: 'StringLiteral',
    line: "else if (board.claim(next.index, next.deadline)) kill(names[next.index] ?? '', -remaining)",
    before: "''",
    after: '"Stryker was here!"',
    reason: 'The board has one deadline for each name: the default is for the types.',
  },
  {
    file: 'packages/kubernetes/src/reflector/collection-watch.ts',
    operator: 'EqualityOperator',
    line: 'if (version > this.#expected) this.#expected = version',
    before: 'version > this.#expected',
    after: 'version >= this.#expected',
    reason: 'An equal version takes the place of itself.',
  },
  {
    file: 'packages/kubernetes/src/reflector/collection-watch.ts',
    operator: 'EqualityOperator',
    line: 'if (version > this.#newest) this.#newest = version',
    before: 'version > this.#newest',
    after: 'version >= this.#newest',
    reason: 'An equal version takes the place of itself.',
  },
  {
    file: 'packages/kubernetes/src/reflector/collection-watch.ts',
    operator: 'EqualityOperator',
    line: 'if (order < this.#reported) return',
    before: 'order < this.#reported',
    after: 'order <= this.#reported',
    reason: 'Each list has an order of its own, from 1 on, and is reported once at most.',
  },
  {
    file: 'packages/kubernetes/src/reflector/collection-watch.ts',
    operator: 'BooleanLiteral',
    line: 'needsList: () => true,',
    before: 'true',
    after: 'false',
    reason: 'After every failure `wentBack()` resolves with true, so a list follows in any case.',
  },
  {
    file: 'packages/kubernetes/src/reflector/object-watch.ts',
    operator: 'EqualityOperator',
    line: 'if (version > this.#newest) this.#newest = version',
    before: 'version > this.#newest',
    after: 'version >= this.#newest',
    reason: 'An equal version takes the place of itself.',
  },
  {
    file: 'packages/kubernetes/src/reflector/watch-subscription.ts',
    operator: 'EqualityOperator',
    line: 'return streamed > polled ? streamed : polled',
    before: 'streamed > polled',
    after: 'streamed >= polled',
    reason: 'Of two equal versions, either is the result.',
  },
  {
    file: 'packages/kubernetes/src/coordinated/candidate-object.ts',
    operator: 'EqualityOperator',
    line: 'return now > pingTime ? now : pingTime',
    before: 'now > pingTime',
    after: 'now >= pingTime',
    reason: 'Of two equal times, either is the result.',
  },
  {
    file: 'packages/kubernetes/src/informer/informer-options.ts',
    operator: 'StringLiteral',
    line: "const { resource = '' } = parts",
    before: "''",
    after: '"Stryker was here!"',
    reason: 'The pattern matches no path without a resource: the default is for the types.',
  },
  {
    file: 'packages/kubernetes/src/informer/informer-run.ts',
    operator: 'StringLiteral',
    line: "#listVersion = ''",
    before: "''",
    after: '"Stryker was here!"',
    reason: 'It is read only after the first list, which sets it.',
  },
  {
    file: 'packages/ops/src/server/bounded-waits.ts',
    operator: 'StringLiteral',
    line: "export const TIMED_OUT: unique symbol = Symbol('timed out')",
    before: "'timed out'",
    after: '""',
    reason: 'The symbol is compared and never shown. Its description is for debuggers.',
  },
  {
    file: 'packages/tenure/src/options.ts',
    operator: 'MethodExpression',
    line: 'const flags = readFlags(options.argv ?? process.argv.slice(2))',
    before: 'process.argv.slice(2)',
    after: 'process.argv',
    reason: 'What comes before the arguments are the absolute paths of Node and of the program. They are no flags.',
  },
]

/** The entry of the list that says that a mutant changes nothing. */
export function findEquivalent(
  mutant: Mutant,
  source: string,
  list: readonly EquivalentMutant[] = EQUIVALENT,
): EquivalentMutant | undefined {
  const line = source.split('\n')[mutant.line - 1]?.trim()
  return list.find(
    (known) =>
      known.file === mutant.file &&
      known.operator === mutant.operator &&
      known.line === line &&
      onOneLine(known.before) === onOneLine(mutant.before) &&
      onOneLine(known.after) === onOneLine(mutant.after),
  )
}
