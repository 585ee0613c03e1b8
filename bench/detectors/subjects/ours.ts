import { writeSync } from 'node:fs'
import { watchForLeaks } from '@tenure/testing/leaks'
import { grow, prepare } from './planted.ts'

await prepare()
const leaks = watchForLeaks()
await grow()
const error: unknown = await leaks.assertNone().catch((error: unknown) => error)
// Straight to the descriptor: a plant may have put something in the place of the standard output.
if (error instanceof Error) writeSync(1, `${error.message}\n`)
process.exit(error === undefined ? 0 : 1)
