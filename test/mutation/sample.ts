/** Picks `count` of the items, each with the same chance, in a random order. All of them in their own order without a count. */
export function sampleOf<Item>(
  items: readonly Item[],
  count: number | undefined,
  random: () => number,
): readonly Item[] {
  if (count === undefined) return items
  const rest = [...items]
  const picked: Item[] = []
  while (picked.length < count && rest.length > 0) {
    const at = Math.floor(random() * rest.length)
    const [item] = rest.slice(at, at + 1)
    const last = rest.pop()
    if (last !== undefined && at < rest.length) rest[at] = last
    if (item !== undefined) picked.push(item)
  }
  return picked
}
