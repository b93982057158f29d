"""Plain-Python twins of random numbers, walks and top-k: slow, and written without a kernel."""

MASK = (1 << 64) - 1


def slow_mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def slow_bits(seed, item, step):
    golden = 0x9E3779B97F4A7C15
    state = slow_mix((seed * golden + item * 0xD1B54A32D192ED03) & MASK)
    return slow_mix((state + step * golden + golden) & MASK)


def slow_below(seed, item, step, bound):
    return (slow_bits(seed, item, step) >> 32) * bound >> 32


def slow_unit(seed, item, step):
    return (slow_bits(seed, item, step) >> 11) / 2**53


def slow_neighbour(targets, weights, seed, walk, draw):
    """Draw one of the targets, by weight if there are weights."""
    if weights is None:
        return targets[slow_below(seed, walk, draw, len(targets))]
    x = slow_unit(seed, walk, draw) * sum(weights)
    for target, weight in zip(targets, weights, strict=True):
        x -= weight
        if x < 0:
            return target
    return targets[-1]


def slow_walk(step_maps, start, length, seed, walk):
    """Walk with one map of (targets, weights) per step, the maps taken in turn."""
    nodes = [start]
    for step in range(1, length):
        targets, weights = step_maps[(step - 1) % len(step_maps)][nodes[-1]]
        if not targets:
            break
        nodes.append(slow_neighbour(targets, weights, seed, walk, step))
    return nodes + [-1] * (length - len(nodes))


def slow_second_order_walk(rows, start, length, p, q, seed, walk, max_proposals=32):
    """Walk with node2vec's p and q: propose, keep by the bias, scan the row after many refusals."""

    def bias(previous, target):
        if target == previous:
            return 1 / p
        return 1.0 if target in rows[previous][0] else 1 / q

    def propose(targets, weights, previous, draw):
        """Return a neighbour, or `previous` for what going back counts more than all else."""
        excess = (1 / p) / max(1, 1 / q) - 1
        if weights or excess <= 0 or previous is None:
            return slow_neighbour(targets, weights, seed, walk, draw), False
        place = int(slow_unit(seed, walk, draw) * (len(targets) + excess))
        return (targets[place], False) if place < len(targets) else (previous, True)

    nodes = [start]
    for step in range(1, length):
        targets, weights = rows[nodes[-1]]
        if not targets:
            break
        draw = step * (2 * max_proposals + 1)
        previous = nodes[-2] if step > 1 else None
        chosen, goes_back = propose(targets, weights, previous, draw)
        if step > 1:
            largest = max(1, 1 / q, 1 / p if weights else 0)
            for _ in range(max_proposals):
                x = slow_unit(seed, walk, draw + 1) * largest
                if chosen in targets and (goes_back or x < bias(previous, chosen)):
                    break
                draw += 2
                chosen, goes_back = propose(targets, weights, previous, draw)
            else:
                masses = [
                    w * bias(previous, t)
                    for t, w in zip(targets, weights or [1.0] * len(targets), strict=True)
                ]
                chosen = slow_neighbour(targets, masses, seed, walk, draw)
        nodes.append(chosen)
    return nodes + [-1] * (length - len(nodes))


def rows_of(graph):
    """Return node -> (targets, weights or None)."""
    rows = {}
    for node in range(graph.num_nodes):
        cut = slice(graph.indptr[node], graph.indptr[node + 1])
        weights = None if graph.weights is None else graph.weights[cut].astype(float).tolist()
        rows[node] = (graph.indices[cut].tolist(), weights)
    return rows


def slow_best(query, node, vectors, candidates, known, k):
    """Return (-score, id) of the best k candidates, best first; `known` has pairs of ids."""
    allowed = [
        (-sum(x * y for x, y in zip(query.tolist(), vectors[i].tolist(), strict=True)), i)
        for i in candidates.tolist()
        if i != node and (node, i) not in known
    ]
    return sorted(allowed)[:k]


def slow_forest(sources, targets, order, num_nodes):
    """Tell of each edge whether it joins two parts, when it is tried in an order."""
    part = list(range(num_nodes))
    kept = [False] * len(sources)
    for edge in order:
        one, other = part[sources[edge]], part[targets[edge]]
        if one != other:
            part = [one if p == other else p for p in part]
            kept[edge] = True
    return kept
