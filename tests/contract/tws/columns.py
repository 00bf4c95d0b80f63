"""The fields of the long order messages at server version 178 in their order, and what a plain order holds in them.

Copied from the requirement's tables 2.4 and 2.5, which were taken from real captures; never from our encoders.
"""

from typing import Final

OPEN_ORDER: Final = (
    "msgId", "orderId", "conId", "symbol", "secType", "lastTradeDateOrContractMonth", "strike", "right", "multiplier",
    "exchange", "currency", "localSymbol", "tradingClass", "action", "totalQuantity", "orderType", "lmtPrice", "auxPrice",
    "tif", "ocaGroup", "account", "openClose", "origin", "orderRef", "clientId", "permId", "outsideRth", "hidden",
    "discretionaryAmt", "goodAfterTime", "", "faGroup", "faMethod", "faPercentage", "modelCode", "goodTillDate", "rule80A",
    "percentOffset", "settlingFirm", "shortSaleSlot", "designatedLocation", "exemptCode", "auctionStrategy", "startingPrice",
    "stockRefPrice", "delta", "stockRangeLower", "stockRangeUpper", "displaySize", "blockOrder", "sweepToFill", "allOrNone",
    "minQty", "ocaType", "eTradeOnly", "firmQuoteOnly", "nbboPriceCap", "parentId", "triggerMethod", "volatility",
    "volatilityType", "deltaNeutralOrderType", "deltaNeutralAuxPrice", "deltaNeutralConId", "deltaNeutralSettlingFirm",
    "deltaNeutralClearingAccount", "deltaNeutralClearingIntent", "deltaNeutralOpenClose", "deltaNeutralShortSale",
    "deltaNeutralShortSaleSlot", "deltaNeutralDesignatedLocation", "continuousUpdate", "referencePriceType", "trailStopPrice",
    "trailingPercent", "basisPoints", "basisPointsType", "comboLegsDescrip", "numComboLegs", "numOrderComboLegs",
    "numSmartComboParams", "scaleInitLevelSize", "scaleSubsLevelSize", "scalePriceIncrement", "hedgeType",
    "optOutSmartRouting", "clearingAccount", "clearingIntent", "notHeld", "deltaNeutralContract present", "algoStrategy",
    "solicited", "whatIf", "status", "initMarginBefore", "maintMarginBefore", "equityWithLoanBefore", "initMarginChange",
    "maintMarginChange", "equityWithLoanChange", "initMarginAfter", "maintMarginAfter", "equityWithLoanAfter", "commission",
    "minCommission", "maxCommission", "commissionCurrency", "warningText", "randomizeSize", "randomizePrice", "numConditions",
    "adjustedOrderType", "triggerPrice", "trailStopPrice", "lmtPriceOffset", "adjustedStopPrice", "adjustedStopLimitPrice",
    "adjustedTrailingAmount", "adjustableTrailingUnit", "softDollarTier.name", "softDollarTier.val",
    "softDollarTier.displayName", "cashQty", "dontUseAutoPriceForHedge", "isOmsContainer", "discretionaryUpToLimitPrice",
    "usePriceMgmtAlgo", "duration", "postToAts", "autoCancelParent", "minTradeQty", "minCompeteSize",
    "competeAgainstBestOffset", "midOffsetAtWhole", "midOffsetAtHalf",
)  # fmt: skip

COMPLETED_ORDER: Final = (
    "msgId", "conId", "symbol", "secType", "lastTradeDateOrContractMonth", "strike", "right", "multiplier", "exchange",
    "currency", "localSymbol", "tradingClass", "action", "totalQuantity", "orderType", "lmtPrice", "auxPrice", "tif",
    "ocaGroup", "account", "openClose", "origin", "orderRef", "permId", "outsideRth", "hidden", "discretionaryAmt",
    "goodAfterTime", "faGroup", "faMethod", "faPercentage", "modelCode", "goodTillDate", "rule80A", "percentOffset",
    "settlingFirm", "shortSaleSlot", "designatedLocation", "exemptCode", "startingPrice", "stockRefPrice", "delta",
    "stockRangeLower", "stockRangeUpper", "displaySize", "sweepToFill", "allOrNone", "minQty", "ocaType", "triggerMethod",
    "volatility", "volatilityType", "deltaNeutralOrderType", "deltaNeutralAuxPrice", "deltaNeutralConId",
    "deltaNeutralShortSale", "deltaNeutralShortSaleSlot", "deltaNeutralDesignatedLocation", "continuousUpdate",
    "referencePriceType", "trailStopPrice", "trailingPercent", "comboLegsDescrip", "numComboLegs", "numOrderComboLegs",
    "numSmartComboParams", "scaleInitLevelSize", "scaleSubsLevelSize", "scalePriceIncrement", "hedgeType", "clearingAccount",
    "clearingIntent", "notHeld", "deltaNeutralContract present", "algoStrategy", "solicited", "status", "randomizeSize",
    "randomizePrice", "numConditions", "trailStopPrice", "lmtPriceOffset", "cashQty", "dontUseAutoPriceForHedge",
    "isOmsContainer", "autoCancelDate", "filledQuantity", "refFuturesConId", "autoCancelParent", "shareholder",
    "imbalanceOnly", "routeMarketableToBbo", "parentPermId", "completedTime", "completedStatus", "minTradeQty",
    "minCompeteSize", "competeAgainstBestOffset", "midOffsetAtWhole", "midOffsetAtHalf",
)  # fmt: skip

OPEN_ORDER_LINE: Final = (
    "5|4|265598|AAPL|STK||0|?||SMART|USD|AAPL|NMS|BUY|10|LMT|191.0|0.0|DAY||DU1234567||0|my-ref-1|7|1376327563|0|0|"
    "0||1376327563.0/DU1234567/100|||||||||0||-1|0|||||||0|0|0|I|3|0|0||0|0||0|None||0||||?|0|0||0|0||||||0|0|0||||"
    "|0||IB|0|0||0|0|PreSubmitted|U|U|U|U|U|U|U|U|U||||||0|0|0|None|U|U|U|U|U|U|0|||||0|0|0|0|I|I|0||||||"
)

COMPLETED_ORDER_LINE: Final = (
    "101|265598|AAPL|STK||0|?||SMART|USD|AAPL|NMS|BUY|10|LMT|191.0|0.0|DAY||DU1234567||0|my-ref-1|1376327563|0|0|0|"
    "|||||||||0||-1|||||||0|0|I|3|0||0|None||0|0|0||0|0||||0|0|0||||||IB|0|0||0|Filled|0|0|0|U|U||0|0||10|0|0|Not a"
    "n insider or substantial shareholder|0|0|0|20250312 14:13:48 US/Eastern|Filled Size: 10||||||"
)
