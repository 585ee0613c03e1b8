/** Mutants of the elector that no trace can show, for one reason. */
interface Untraceable {
  readonly ids: readonly string[]
  readonly reason: string
}

/** The command fails if a trace shows a mutant of the list, or shows none for another mutant of the elector. */
export const UNTRACEABLE: readonly Untraceable[] = [
  {
    ids: ['B3'],
    reason:
      'It accepts options that Tenure refuses. A trace is checked against the options with which its elector runs.',
  },
  {
    ids: ['B29', 'E10', 'E11', 'E17', 'E25', 'E28', 'E30', 'E31', 'E35', 'E36', 'E37', 'E38', 'E71', 'E112'],
    reason:
      'It changes which replica tries first, or how soon. The specification lets every follower try as soon as the lease is free.',
  },
  {
    ids: ['E50', 'E51', 'E52', 'E53', 'E54', 'E55', 'E56', 'E59', 'E67', 'E68', 'E72', 'E88', 'E104'],
    reason:
      'It changes when a leader gives the lease away, and to whom. The specification lets a leader end its term at any time, for any replica.',
  },
  {
    ids: ['E18', 'E26', 'E27', 'E69', 'E70', 'E114'],
    reason:
      'It changes when a follower joins or leaves the list of standbys. The specification lets it do so at any time.',
  },
  {
    ids: ['B9', 'B11', 'B13', 'E6', 'E14', 'E15', 'E103', 'E106', 'E113'],
    reason:
      'It makes an elector late, idle or busy. A trace that ends before the elector acts is the trace of a slow replica.',
  },
  {
    ids: ['E1', 'E2', 'E3', 'E4'],
    reason:
      'It changes how the driver handles requests and watches outside of the steps of the machine, which a trace holds.',
  },
  {
    ids: ['E32', 'E33', 'E34', 'E48', 'E49'],
    reason:
      'It changes what a term leaves for the caches of the next one. The specification of the lease has no caches.',
  },
  {
    ids: ['E13'],
    reason:
      'It begins a term with a transfer that leaves little time. The specification lets a term begin as long as any time is left.',
  },
  {
    ids: ['E60'],
    reason:
      'It shows only if a watch skips a change without saying so, which a lock must not do, or if somebody else edits the transitions.',
  },
  {
    ids: ['E93'],
    reason:
      'It shows only if another replica is seen to have the lease between an acquisition and its answer. That is rare: no fleet did it in 12,000 runs.',
  },
  {
    ids: ['E97'],
    reason:
      'It shows only if a coordinator names the same replica before and after a holder that it did not see. One of 100,000 fleets with drawn settings did it.',
  },
  {
    ids: ['E98'],
    reason:
      'It shows only if a replica stops between an acquisition and its term, with a renewal under way. Six of 100,000 fleets with drawn settings did it.',
  },
  {
    ids: ['E101', 'E102', 'E105', 'E108', 'E109', 'E110'],
    reason:
      'It shows only if the restore of a store meets the creation or the deletion of a lease, the end of a term, or the expiry of a lease. No store of a traced fleet is restored at such a moment.',
  },
  {
    ids: ['E111'],
    reason: 'It shows only in a renewal that is sent within a millisecond of the acquisition.',
  },
  {
    ids: ['E85'],
    reason:
      'It shows only after an edit that looks like a release to a replica that saw nothing of the term. No fleet makes such edits.',
  },
]

/** Whether the list says that no trace shows the mutant. */
export function isUntraceable(id: string): boolean {
  return UNTRACEABLE.some(({ ids }) => ids.includes(id))
}
