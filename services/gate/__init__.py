"""Who decides: policy, rules, verdicts and valuation."""
