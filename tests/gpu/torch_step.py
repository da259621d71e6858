"""A training step in bf16: a small transformer on random tokens. Prints the median of milliseconds a step."""

import statistics
import time

import torch

WARM, STEPS = 20, 100


def main():
    torch.manual_seed(1)
    layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 4).cuda().to(torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    data = torch.randn(16, 256, 1024, device="cuda", dtype=torch.bfloat16)
    times = []
    for i in range(WARM + STEPS):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        model(data).float().pow(2).mean().backward()
        optimizer.step()
        torch.cuda.synchronize()
        if i >= WARM:
            times.append(time.perf_counter() - begin)
    print(f"{1000 * statistics.median(times):.3f}")


main()
