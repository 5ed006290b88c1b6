"""What an adversary plausibly knows: corpus, patients, tiers, scrubbing, prompts."""
