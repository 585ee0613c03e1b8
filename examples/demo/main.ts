import { UnusableClusterError } from './cluster/unusable-cluster-error.ts'
import { Demo } from './demo.ts'
import { type DemoOptions, parseOptions, USAGE, UsageError } from './options.ts'
import { publish } from './publish.ts'
import { listenToKeys } from './terminal/keys.ts'

/*
 * Three replica processes hand one lease to each other. Ends with exit code 0 if every step went as expected.
 */

const BAD_OPTIONS = 2

process.exitCode = await main()

async function main(): Promise<number> {
  try {
    const options = parseOptions(process.argv.slice(2))
    if (options !== undefined) return await run(options)
    process.stdout.write(USAGE)
    return 0
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof UnusableClusterError)) throw error
    process.stderr.write(`${error.message}\n`)
    return BAD_OPTIONS
  }
}

async function run(options: DemoOptions): Promise<number> {
  const demo = new Demo(options)
  const stopListening = listenForEnd(demo)
  try {
    const summary = await demo.run()
    await publish(demo, summary)
    return summary.failures.length === 0 ? 0 : 1
  } finally {
    stopListening()
  }
}

/** The first signal ends the demo in order, the second one ends it immediately. */
function listenForEnd(demo: Demo): () => void {
  let asked = false
  const end = () => {
    if (asked) process.exit(1)
    asked = true
    demo.quit()
  }
  const stopKeys = listenToKeys((key) => {
    if (key === 'q') end()
  })
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, end)
  // The reader of the output has gone away.
  process.stdout.on('error', () => process.exit(1))
  return () => {
    stopKeys?.()
    for (const signal of signals) process.removeListener(signal, end)
  }
}
